// SPDX-License-Identifier: Apache-2.0
// Tiers (trustworthiness.h) as attestation results write them. Internal to this folder.
#pragma once

#include <optional>
#include <string_view>

#include "attestation/trustworthiness.h"
#include "schemas/core/json.h"

namespace assay::attestation {

[[nodiscard]] std::string_view tier_name(Tier tier);
// Reads a name ("affirming") or the number that stands for it (2). nullopt for anything else.
[[nodiscard]] std::optional<Tier> tier_from(const Json& value);
// The worst tier that a trustworthiness vector claims, kNone when it claims nothing: values of the
// tier "none" claim nothing and are left out. nullopt unless the vector is an object of numbers
// from -128 to 127.
[[nodiscard]] std::optional<Tier> worst_claim(const Json& vector);
// The tier that a submodule of `status` counts as beside its worst claim. "affirming" without a
// claim that affirms counts as "none": nobody appraised that submodule. nullopt when the status is
// better than the claim.
[[nodiscard]] constexpr std::optional<Tier> counted_tier(Tier status, Tier worst_claim) {
  if (worst_claim == Tier::kNone) {
    return status == Tier::kAffirming ? Tier::kNone : status;
  }
  return status < worst_claim ? std::nullopt : std::optional(status);
}

}  // namespace assay::attestation
