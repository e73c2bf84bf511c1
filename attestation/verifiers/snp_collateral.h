// SPDX-License-Identifier: Apache-2.0
// The CRL of one of AMD's roots as collateral that a service keeps. Internal to this folder.
#pragma once

#include <vector>

#include "attestation/collateral_set.h"
#include "attestation/snp/collateral.h"
#include "attestation/verifiers/snp_verifier.h"
#include "schemas/trust.h"

namespace assay::attestation {

class SnpCollateralSet final : public CollateralSet {
 public:
  // `collateral` is what `text` was authenticated to, with a CRL.
  SnpCollateralSet(const snp::Collateral& text, snp::AuthenticatedCollateral collateral);

  [[nodiscard]] std::string_view type() const override { return kSnpEvidence; }
  [[nodiscard]] const Json& bundle() const override { return bundle_; }
  [[nodiscard]] const Digest& digest() const override { return *collateral_.digest(); }
  [[nodiscard]] const Digest& anchor() const override { return collateral_.anchor().digest(); }
  [[nodiscard]] bool anchor_is_vendor() const override { return collateral_.anchor().is_amd(); }
  [[nodiscard]] Timestamp valid_from() const override { return collateral_.crl()->this_update; }
  [[nodiscard]] Timestamp valid_until() const override { return collateral_.crl()->next_update; }
  [[nodiscard]] const std::vector<CollateralPart>& parts() const override { return parts_; }
  [[nodiscard]] std::size_t memory_bytes() const override;

  [[nodiscard]] const snp::AuthenticatedCollateral& authenticated() const { return collateral_; }

 private:
  Json bundle_;
  snp::AuthenticatedCollateral collateral_;
  std::vector<CollateralPart> parts_;
};

// Returns AMD's roots, then those that `dangerous` has in DER. Errors: those of
// snp::TrustAnchor::from_bytes(); `where` is "/dangerous_anchors/N".
[[nodiscard]] Result<std::vector<snp::TrustAnchor>> snp_anchors(std::span<const Bytes> dangerous);

}  // namespace assay::attestation
