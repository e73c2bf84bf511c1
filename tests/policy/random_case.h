// SPDX-License-Identifier: Apache-2.0
// Random policies and facts over a small universe, so that they meet: few identities, names,
// stages, members and times, with wrong ones among them. The same seed gives the same case.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "tests/policy/fixture.h"

namespace assay::policy::test {

struct RandomOptions {
  bool negation = true;
  std::vector<Quantifier> quantifiers = {Quantifier::kEvery, Quantifier::kAny, Quantifier::kLatest};
  std::vector<PredicateTest> always{};  // in every statement condition
  bool nodes = true;                    // conditions on node and reports, too
};

class RandomCase {
 public:
  explicit RandomCase(std::uint64_t seed, RandomOptions options = {})
      : engine_(seed), options_(std::move(options)) {}

  [[nodiscard]] Facts facts();
  [[nodiscard]] std::vector<ActivePolicy> policies();
  [[nodiscard]] PolicyDocument policy();
  [[nodiscard]] StatementFact statement(std::uint64_t number);
  [[nodiscard]] NodeFact node();
  [[nodiscard]] ReportFact report(std::uint64_t number);
  // 0 to `limit` - 1.
  [[nodiscard]] std::size_t below(std::size_t limit);

 private:
  [[nodiscard]] bool one_in(std::size_t n) { return below(n) == 0; }
  template <typename T>
  [[nodiscard]] T pick(std::vector<T> choices) {
    return choices.at(below(choices.size()));
  }
  [[nodiscard]] SignerFact signed_by(bool publisher, Timestamp at);
  [[nodiscard]] Json predicate();
  [[nodiscard]] Json value();
  [[nodiscard]] SignerRequirement requirement();
  [[nodiscard]] PredicateTest test();
  [[nodiscard]] NodeCondition node_condition();
  [[nodiscard]] ReportCondition report_condition();
  [[nodiscard]] ConditionKind leaf();
  [[nodiscard]] Condition condition(int depth);

  std::mt19937_64 engine_;
  RandomOptions options_;
  int next_id_ = 0;
};

}  // namespace assay::policy::test
