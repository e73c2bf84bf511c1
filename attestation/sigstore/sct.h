// SPDX-License-Identifier: Apache-2.0
// Signed certificate timestamps (RFC 6962 section 3.2) inside of a certificate: a certificate log
// vouches that it will show the certificate to everybody.
#pragma once

#include <span>
#include <string>

#include "attestation/sigstore/trusted_root.h"
#include "attestation/x509/certificate.h"
#include "schemas/core/clock.h"
#include "schemas/core/error.h"

namespace assay::attestation::sigstore {

inline constexpr int kMaxScts = 16;

struct VerifiedSct {
  std::string log;  // base_url
  Timestamp time;
};

// Verifies the timestamps that `leaf` carries, for a precertificate that `issuer` issued, and
// returns the first. Timestamps of logs that `ctlogs` does not have, or not at that time, are
// passed over; at least one must be left, and each that is must verify. Logs sign with ECDSA P-256.
// Errors: sct-invalid.
[[nodiscard]] Result<VerifiedSct> verify_scts(const x509::Certificate& leaf,
                                              const x509::Certificate& issuer,
                                              std::span<const Log> ctlogs);

}  // namespace assay::attestation::sigstore
