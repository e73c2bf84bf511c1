// SPDX-License-Identifier: Apache-2.0
// Rules that every certificate of AMD's keeps. Internal to this folder.
// Source: AMD 57230 "VCEK Certificate and KDS Interface Specification".
#pragma once

#include <string>

#include "attestation/x509/certificate.h"

namespace assay::attestation::snp {

// Returns the one common name of subject or issuer; empty when there is none or another.
[[nodiscard]] std::string subject_name(const x509::Certificate& certificate);
[[nodiscard]] std::string issuer_name(const x509::Certificate& certificate);

// Returns whether the certificate names RSASSA-PSS with SHA-384 as its signature.
[[nodiscard]] bool is_signed_with_pss(const x509::Certificate& certificate);
[[nodiscard]] bool has_rsa_4096_key(const x509::Certificate& certificate);
// Returns whether the certificate's own key signed it.
[[nodiscard]] bool is_self_signed(const x509::Certificate& certificate);

}  // namespace assay::attestation::snp
