// SPDX-License-Identifier: Apache-2.0
// A second evaluator of policies, as slow and plain as possible, to hold the real one against. What
// is not known (a value that cannot be compared, a signature from the future) is tried both ways:
// a condition is an error when the answers differ. Shares no code with policy/ beyond its types.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "policy/evaluate.h"

namespace assay::policy::reference {

struct Answer {
  std::string id;
  Outcome outcome;
  std::optional<Reason> code;
  std::vector<Answer> parts;
  bool operator==(const Answer&) const = default;
};

struct Decision {
  bool allowed = false;
  std::vector<Reason> reasons;
  std::vector<std::vector<Answer>> policies;  // of those that match, for each model, in order
};

// A condition as JSON with the values of reference sets in the place of their names, and why some
// lists have none. A value that is listed twice stays twice.
struct Expanded {
  Json json;
  std::set<Reason> open;
};
[[nodiscard]] Expanded expanded(const Json& condition,
                                const std::map<std::string, ReferenceSet>& sets);

// Without preconditions. At least one model, at most 20 unknown things in one condition.
[[nodiscard]] Decision evaluate(const std::vector<ActivePolicy>& policies, const Workload& workload,
                                const std::vector<Facts>& models, DecisionPoint point,
                                Timestamp now);

}  // namespace assay::policy::reference
