// SPDX-License-Identifier: Apache-2.0
// Combines several demands on one fact (policy/facts.h) into one result. Internal to policy.
#pragma once

#include <vector>

#include "schemas/decision.h"

namespace assay::policy {

// Names of members of ConditionResult::actual. Checks::conclude() writes these members, and
// policy/conditions/negation.cc reads them.
inline constexpr const char* kFailedMember = "failed";
inline constexpr const char* kUndecidedMember = "undecided";

// A list of demands in a fixed order. Every demand is checked. The result takes the code of the
// first demand that fails. The result is undecided (Outcome::kError) only when no demand fails and
// at least one is undecided.
class Checks {
 public:
  void demand(bool holds, Reason code) {
    if (!holds) {
      failed_.push_back(code);
    }
  }
  // Makes the result undecided when `time` lies after `now`, because a fact from the future proves
  // nothing.
  void demand_past(Timestamp time, Timestamp now) { undecided_ = undecided_ || time > now; }
  // Makes the result undecided with `code` when `holds` is false, because something is unknown.
  void demand_known(bool holds, Reason code) {
    if (!holds) {
      unknown_.push_back(code);
    }
  }
  // Makes the result undecided because the facts contradict each other.
  void undecided() { undecided_ = true; }

  // Sets the outcome and the code of `result`. When a demand fails, sets actual["failed"] to the
  // codes of all failed demands. When a demand fails and something else is undecided, also sets
  // actual["undecided"] to true. The code of an undecided result is condition-undecided when facts
  // contradict each other or lie in the future, else the code of the first demand_known() that did
  // not hold.
  void conclude(ConditionResult& result) const;

 private:
  std::vector<Reason> failed_;
  std::vector<Reason> unknown_;
  bool undecided_ = false;
};

}  // namespace assay::policy
