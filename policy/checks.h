// SPDX-License-Identifier: Apache-2.0
// Several demands on one fact, and ages. Inside of policy.
#pragma once

#include <vector>

#include "schemas/decision.h"

namespace assay::policy {

// Whole seconds from `then` to `now`; 0 when `then` is later.
[[nodiscard]] std::uint64_t age_seconds(Timestamp then, Timestamp now);
// True when more than `max_age_seconds` lie between: to the millisecond. False when `then` is later
// than `now`: that is for the caller to notice.
[[nodiscard]] bool is_older(Timestamp then, std::uint64_t max_age_seconds, Timestamp now);

// Members of `actual`; policy/negation.cc reads them.
inline constexpr const char* kFailedMember = "failed";
inline constexpr const char* kUndecidedMember = "undecided";

// Demands in a fixed order. All are looked at: the first that fails gives the code, and one that
// cannot be decided counts only when none fails.
class Checks {
 public:
  void demand(bool holds, Reason code) {
    if (!holds) {
      failed_.push_back(code);
    }
  }
  // `time` may not lie after `now`: facts from the future decide nothing.
  void demand_past(Timestamp time, Timestamp now) { undecided_ = undecided_ || time > now; }
  // What is not known decides nothing, for this reason.
  void demand_known(bool holds, Reason code) {
    if (!holds) {
      unknown_.push_back(code);
    }
  }
  // What was read contradicts itself.
  void undecided() { undecided_ = true; }

  // Sets outcome and code (of an error: the first thing that is not known, unless something
  // contradicts itself or lies in the future), and when a demand fails actual["failed"] to the
  // codes of all that do, and actual["undecided"] to true if something cannot be decided besides.
  void conclude(ConditionResult& result) const;

 private:
  std::vector<Reason> failed_;
  std::vector<Reason> unknown_;
  bool undecided_ = false;
};

}  // namespace assay::policy
