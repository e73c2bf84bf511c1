// SPDX-License-Identifier: Apache-2.0
// The chain of the provisioning certification key (PCK): leaf, platform or processor CA, root.
// Internal to this folder. Intel QVL steps 4.1.2.1 to 4.1.2.4.
#pragma once

#include <span>
#include <string_view>

#include "attestation/tdx/certificate.h"
#include "attestation/tdx/pck_extension.h"

namespace assay::attestation::tdx {

struct PckChain {
  Chain certificates;  // leaf, CA, root
  PckExtension extension;

  [[nodiscard]] const Certificate& leaf() const { return *certificates[0]; }
  [[nodiscard]] const CertificatePtr& ca() const { return certificates[1]; }
};

// Returns the value of the single SGX extension of a certificate, borrowed from the certificate.
// Empty when the certificate has no SGX extension or more than one.
[[nodiscard]] ByteView sgx_extension(const Certificate& leaf);

// Opens the chain of a PCK certificate. Checks names, constraints, key types, signatures and the
// SGX extension. Validity times and revocation are not checked, as in open_chain() (certificate.h).
[[nodiscard]] Checked<PckChain> open_pck_chain(std::string_view pem, const CertificatePtr& anchor,
                                               std::span<const CertificatePtr> known);

// Opens the chain of a PCK CRL: CA, root.
[[nodiscard]] Checked<Chain> open_pck_ca_chain(std::string_view pem, const CertificatePtr& anchor);
// Opens the chain of TCB info and QE identity: TCB signing certificate, root. `known` as in
// open_chain().
[[nodiscard]] Checked<Chain> open_signing_chain(std::string_view pem, const CertificatePtr& anchor,
                                                const ChainErrors& errors,
                                                std::span<const CertificatePtr> known = {});

}  // namespace assay::attestation::tdx
