// SPDX-License-Identifier: Apache-2.0
// The part of a verdict that questions about impact compare and show.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schemas/decision.h"

namespace assay::server {

// Limit on the causes that one answer shows.
inline constexpr std::size_t kMaxCauses = 16;

// One condition that stands in the way of an allow. A precondition has no policy.
struct Cause {
  std::string policy;
  std::uint64_t version = 0;
  std::string condition;
  std::string code;
  auto operator<=>(const Cause&) const = default;
};

struct Answer {
  bool selected = true;  // false: no policy selects the workload; the other members are unset
  bool allowed = false;
  std::vector<std::string> reasons{};
  std::vector<Cause> causes{};  // distinct, at most kMaxCauses
  // The first time at which the answer may be another one; absent: never. Not compared.
  std::optional<Timestamp> valid_until{};
  bool operator==(const Answer& other) const {
    return selected == other.selected && allowed == other.allowed && reasons == other.reasons &&
           causes == other.causes;
  }
};

// Returns the comparable part of a verdict. The causes are the innermost conditions of enforce
// policies, and the preconditions, that fail or are errors; none when the verdict allows.
[[nodiscard]] Answer answer_of(const Verdict& verdict);

// Returns {"policy", "version", "condition", "code"}; without policy and version for a
// precondition.
[[nodiscard]] Json to_json(const Cause& cause);
// Returns {"verdict": "allow", "deny" or "not-applicable", "reasons"}.
[[nodiscard]] Json to_json(const Answer& answer);
[[nodiscard]] Json to_json(const std::vector<Cause>& causes);

}  // namespace assay::server
