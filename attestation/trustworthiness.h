// SPDX-License-Identifier: Apache-2.0
// The names of the aspects of trust (draft-ietf-rats-ar4si, section 2.3) and their tiers. Internal
// to attestation.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "attestation/evidence_verifier.h"

namespace assay::attestation {

inline constexpr std::array<std::pair<const char*, std::int16_t Trustworthiness::*>, 5> kAspects = {
    {
        {"instance-identity", &Trustworthiness::instance_identity},
        {"configuration", &Trustworthiness::configuration},
        {"executables", &Trustworthiness::executables},
        {"hardware", &Trustworthiness::hardware},
        {"runtime-opaque", &Trustworthiness::runtime_opaque},
    }};

// From best to worst. Not knowing is worse than affirming: a submodule that nobody could appraise
// must not hide behind one that was.
enum class Tier : std::uint8_t { kAffirming, kNone, kWarning, kContraindicated };

// Ranges of draft-ietf-rats-ar4si section 2.3.2; negative values are the verifier's own meanings
// within the same tiers: -2 to -32 affirm, as 2 to 31 do.
[[nodiscard]] constexpr Tier tier_of(int value) {
  if (value >= -1 && value <= 1) {
    return Tier::kNone;
  }
  const int magnitude = value < 0 ? -value - 1 : value;
  if (magnitude < 32) {
    return Tier::kAffirming;
  }
  return magnitude < 96 ? Tier::kWarning : Tier::kContraindicated;
}

// Returns the tier of the worst aspect that is claimed; kNone when none is.
[[nodiscard]] constexpr Tier tier_of(const Trustworthiness& trustworthiness) {
  if (trustworthiness == Trustworthiness{}) {
    return Tier::kNone;
  }
  Tier worst = Tier::kAffirming;
  for (const auto& [aspect, member] : kAspects) {
    if (const std::int16_t value = trustworthiness.*member; value != 0) {
      const Tier tier = tier_of(value);
      worst = tier > worst ? tier : worst;
    }
  }
  return worst;
}

}  // namespace assay::attestation
