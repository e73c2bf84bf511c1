// SPDX-License-Identifier: Apache-2.0
// Which facts about a device are good enough. Facts stay as they are: what is allowed here is seen
// beside them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "attestation/nvidia/error.h"
#include "attestation/nvidia/verify.h"
#include "schemas/core/error.h"
#include "schemas/core/json.h"

namespace assay::attestation::nvidia {

inline constexpr std::size_t kMaxWaived = 64;

// A measurement that may differ, until a time, and why.
struct WaivedMeasurement {
  RimSource source;
  std::uint8_t index;
  std::string reason;
  Timestamp until;
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
  // RIMs that count although their certificates have ended. Not a member of the JSON: a caller
  // knows who stands for them.
  std::set<Digest> vouched{};
};

// Parses {"require_nonce":true,"allow_expired_rim":false,"allow_certificate_hold":false,
// "require_revocation":true,"ocsp_grace_seconds":0,
// "waived":[{"source":"driver","index":9,"reason":"...","until":"2027-01-01T00:00:00Z"}]}; each
// member may be absent. Errors: schema-violation, unknown-member.
[[nodiscard]] Result<Acceptance> parse_acceptance(const Json& json);
[[nodiscard]] Json to_json(const Acceptance& acceptance);

// Returns everything that is not good enough at `now`, the gravest first; empty for accepted
// evidence.
[[nodiscard]] std::vector<Failure> shortcomings(const DeviceFacts& facts,
                                                const Acceptance& acceptance, Timestamp now);

// Returns the waiver under which a mismatch is no shortcoming at `now`; null when there is none.
[[nodiscard]] const WaivedMeasurement* waiver_of(const Mismatch& mismatch,
                                                 const Acceptance& acceptance, Timestamp now);

}  // namespace assay::attestation::nvidia
