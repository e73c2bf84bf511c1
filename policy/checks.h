// SPDX-License-Identifier: Apache-2.0
// Combines several demands on one fact. Internal to policy.
#pragma once

#include <vector>

#include "schemas/decision.h"

namespace assay::policy {

// Members of ConditionResult::actual that conclude() writes and policy/negation.cc reads.
inline constexpr const char* kFailedMember = "failed";
inline constexpr const char* kUndecidedMember = "undecided";

// A list of demands in a fixed order. Every demand is checked. The first demand that fails gives
// the code. An undecided demand counts only when no demand fails.
class Checks {
 public:
  void demand(bool holds, Reason code) {
    if (!holds) {
      failed_.push_back(code);
    }
  }
  // Makes the result undecided when `time` lies after `now`, because facts from the future decide
  // nothing.
  void demand_past(Timestamp time, Timestamp now) { undecided_ = undecided_ || time > now; }
  // Makes the result undecided because the facts contradict each other.
  void undecided() { undecided_ = true; }

  // Sets the outcome and the code of `result`. When a demand fails, sets actual["failed"] to the
  // codes of all failed demands. When a demand fails and something else is undecided, also sets
  // actual["undecided"] to true.
  void conclude(ConditionResult& result) const;

 private:
  std::vector<Reason> failed_;
  bool undecided_ = false;
};

}  // namespace assay::policy
