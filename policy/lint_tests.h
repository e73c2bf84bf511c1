// SPDX-License-Identifier: Apache-2.0
// Lint of the tests in statement conditions. Internal to policy.
#pragma once

#include <string>
#include <vector>

#include "policy/lint.h"

namespace assay::policy {

// Where a condition stands.
struct LintPlace {
  std::string id;
  std::string where;     // JSON pointer into the document of the policy
  bool negated = false;  // below a `not`
};

// Adds findings about condition.where. `place` is that of the condition.
void lint_tests(const StatementCondition& condition, const LintPlace& place,
                std::vector<Finding>& findings);

// Returns whether no statement passes both lists of tests, because a test of one and a test of the
// other at the same pointer exclude each other.
[[nodiscard]] bool exclude_each_other(const std::vector<PredicateTest>& a,
                                      const std::vector<PredicateTest>& b);

}  // namespace assay::policy
