// SPDX-License-Identifier: Apache-2.0
// Questions to OCSP responders (RFC 6960), for tools that fetch answers to keep. Nothing here calls
// anybody.
#pragma once

#include <string_view>

#include "attestation/x509/certificate.h"
#include "schemas/core/bytes.h"
#include "schemas/core/error.h"

namespace assay::attestation::nvidia {

inline constexpr std::string_view kOcspRequestType = "application/ocsp-request";

// Returns the DER of a request about `certificate`, which `issuer` issued. Its CertID is of SHA-1,
// which every responder knows (RFC 5019 section 2.1.1); it has no nonce, since the answer is kept.
// Errors: internal when OpenSSL has no memory.
[[nodiscard]] Result<Bytes> ocsp_request(const x509::Certificate& certificate,
                                         const x509::Certificate& issuer);

}  // namespace assay::attestation::nvidia
