// SPDX-License-Identifier: Apache-2.0
// Lint of the tests in statement conditions. Internal to policy.
#pragma once

#include <cstddef>
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

// What may be compared to find tests that exclude each other, in all of a policy. Beyond it lint
// finds no more of them: the policy of somebody who only asks shall not cost more.
class Comparisons {
 public:
  // Takes `units`, of which one is about 100 ns. Returns false when so much is not left, and from
  // then on.
  [[nodiscard]] bool take(std::size_t units) {
    left_ = units > left_ ? 0 : left_ - units;
    return left_ > 0;
  }

 private:
  std::size_t left_ = 500'000;
};

// Adds findings about condition.where. `place` is that of the condition.
void lint_predicates(const StatementCondition& condition, const LintPlace& place,
                     std::vector<Finding>& findings, Comparisons& comparisons);

// Returns whether no statement passes both lists of tests, because a test of one and a test of the
// other at the same pointer exclude each other.
[[nodiscard]] bool exclude_each_other(const std::vector<PredicateTest>& a,
                                      const std::vector<PredicateTest>& b,
                                      Comparisons& comparisons);

}  // namespace assay::policy
