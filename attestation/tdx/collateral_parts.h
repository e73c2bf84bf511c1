// SPDX-License-Identifier: Apache-2.0
// The members of AuthenticatedCollateral. Internal to this folder.
#pragma once

#include "attestation/tdx/collateral.h"
#include "attestation/tdx/crl.h"
#include "attestation/tdx/pck_cache.h"

namespace assay::attestation::tdx {

struct AuthenticatedCollateral::Parts {
  TrustAnchor anchor;
  Digest digest;
  RevocationList root_crl;
  RevocationList pck_crl;
  // The PCK CA under which pck_crl was verified. Null when the collateral has no chain of the CA
  // that issued it. In this case verify() checks the PCK CRL under the PCK CA of each quote.
  CertificatePtr pck_ca;
  Chain pck_crl_chain;  // of a PCK CA, verified under the anchor; empty: the collateral has none
  Chain tcb_info_chain;
  Chain qe_identity_chain;
  TcbInfo tcb_info;
  QeIdentity qe_identity;
  Timestamp valid_from;
  Timestamp valid_until;
  std::vector<Check> checks;
  std::unique_ptr<PckCache> known_leaves;  // never null
};

}  // namespace assay::attestation::tdx
