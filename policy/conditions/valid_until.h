// SPDX-License-Identifier: Apache-2.0
// Finds when a verdict may change because time passes (Verdict::valid_until). Internal to policy.
//
// Times that tests of predicates name are noted where the tests run (test_of() in signers.h).
#pragma once

#include "policy/conditions.h"

namespace assay::policy {

// Notes in scope.facts.horizon when the result of a condition in `require`, judged with `scope`,
// may change: ages, ends of enrolments, windows, revocations, and facts that lie in the future. A
// time at which nothing changes in the end may be noted, too.
void note_changes(const std::vector<Condition>& require, const Scope& scope);

// Notes the times at which signatures on manifests and placements begin or cease to count.
void note_publishers(const Facts& facts, const JudgedFacts& judged);

}  // namespace assay::policy
