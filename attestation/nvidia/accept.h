// SPDX-License-Identifier: Apache-2.0
// Which facts about a device are good enough. Facts stay as they are: what is allowed here is seen
// beside them.
#pragma once

#include <vector>

#include "attestation/nvidia/error.h"
#include "attestation/nvidia/verify.h"
#include "schemas/core/error.h"
#include "schemas/core/json.h"

namespace assay::attestation::nvidia {

inline constexpr std::size_t kMaxWaived = 64;

// A measurement that may differ.
struct WaivedMeasurement {
  RimSource source;
  std::uint8_t index;
  bool operator==(const WaivedMeasurement&) const = default;
};

// The defaults accept nothing that is not proven.
struct Acceptance {
  bool require_nonce = true;
  bool allow_expired_rim = false;
  bool allow_certificate_hold = false;
  // Whether every certificate needs an answer that it is good. A revoked one is refused in any
  // case.
  bool require_revocation = true;
  std::vector<WaivedMeasurement> waived{};
  OcspWindow window{};  // for the caller to verify with
};

// Parses {"require_nonce":true,"allow_expired_rim":false,"allow_certificate_hold":false,
// "require_revocation":true,"ocsp_grace_seconds":0,"waived":[{"source":"driver","index":9}]}; each
// member may be absent. Errors: schema-violation, unknown-member, limit-exceeded.
[[nodiscard]] Result<Acceptance> parse_acceptance(const Json& json);

// Returns everything that is not good enough, the gravest first; empty for accepted evidence.
[[nodiscard]] std::vector<Failure> shortcomings(const DeviceFacts& facts,
                                                const Acceptance& acceptance);

}  // namespace assay::attestation::nvidia
