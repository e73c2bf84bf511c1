// SPDX-License-Identifier: Apache-2.0
// What hostile policies and statements cannot do to evaluation.
#include <gtest/gtest.h>

#include "policy/conditions.h"
#include "policy/lint.h"
#include "tests/policy/fixture.h"
#include "tests/support/allocations.h"

namespace assay::policy::test {
namespace {

Condition nested(int levels) {
  Condition inner = manifest_condition();
  for (int i = 1; i < levels; ++i) {
    AllCondition all;
    all.of.push_back(std::move(inner));
    inner = condition("level", std::move(all));
  }
  return inner;
}

TEST(Limits, DeepestAllowedCondition_IsJudged) {
  const PolicyDocument policy = policy_with({nested(kMaxConditionDepth)});
  EXPECT_TRUE(decide(policy, valid_facts()).allowed);
  EXPECT_EQ(point_of(policy.require.front()), DecisionPoint::kCreate);
}

TEST(Limits, DeeperCondition_IsUndecided) {
  for (const int levels : {kMaxConditionDepth + 1, 1000}) {
    const PolicyDocument policy = policy_with({nested(levels)});
    const Verdict verdict = decide(policy, valid_facts());
    EXPECT_FALSE(verdict.allowed);
    EXPECT_EQ(verdict.reasons, std::vector{Reason::kConditionUndecided});
    EXPECT_EQ(point_of(policy.require.front()), DecisionPoint::kCreate);
    EXPECT_FALSE(lint(policy).empty());
  }
}

TEST(Limits, NotWithoutExactlyOnePart_IsUndecided) {
  for (const std::size_t parts : {0U, 2U}) {
    NotCondition negation;
    negation.of.assign(parts, condition("x", ManifestCondition{{2, {}}}));
    const Verdict verdict = decide(policy_with({condition("not", negation)}), valid_facts());
    EXPECT_FALSE(verdict.allowed) << parts;
    EXPECT_FALSE(verdict.reasons.empty()) << parts;
  }
}

TEST(Limits, HugeValuesInAStatement_AreNotCopiedIntoTheVerdict) {
  StatementCondition huge = stage_condition("train");
  huge.where = {{"/text", Comparison::kEqual, "x"}, {"/list", Comparison::kEqual, "x"}};
  Facts facts = valid_facts();
  facts.statements.front().predicate = {{"text", std::string(1U << 20, 'a')},
                                        {"list", std::vector<int>(1U << 16, 7)}};
  const ConditionResult result = judge_alone(huge, facts);
  EXPECT_EQ(result.outcome, Outcome::kFail);
  EXPECT_LT(to_json(result).dump().size(), 4096U);
}

// What evaluation allocates: a node for each thing that it finds or keeps, and, because the names
// here are longer than what a string holds by itself, one for each of them that it copies.
double cost_of(const Facts& facts, std::size_t conditions) {
  PolicyDocument policy =
      policy_with(std::vector<Condition>(conditions, condition("c", stage_condition("approve"))));
  policy.require.push_back(manifest_condition());
  const auto cost =
      assay::test::allocations_of([&] { EXPECT_TRUE(decide(policy, facts).allowed); });
  return static_cast<double>(cost.count);
}

Facts facts_of(std::uint64_t statements, std::uint64_t manifests) {
  Facts facts = valid_facts();
  for (std::uint64_t i = 0; i < statements; ++i) {
    facts.statements.push_back(
        statement(10000 + i, "approve", Json::object(), {signer("c", "carol", "approve")}));
  }
  for (std::uint64_t i = 0; i < manifests; ++i) {
    facts.manifests.push_back(manifest(100 + i,
                                       "acme/the-same-bytes-as-number-" + std::to_string(i),
                                       {publisher("alice-1", "alice")}));
  }
  return facts;
}

// Four times the statements take four times the work.
TEST(Limits, ManyStatementsAndConditions_StayLinear) {
  const double small = cost_of(facts_of(1000, 0), 10);
  const double large = cost_of(facts_of(4000, 0), 10);
  EXPECT_LT(large, 4.5 * small) << small;
}

// A publisher may publish the same bytes under many names.
TEST(Limits, ManyNames_DoNotMultiplyTheCostOfStatements) {
  const double few = cost_of(facts_of(1000, 10), 1) + cost_of(facts_of(0, 1000), 1);
  const double many = cost_of(facts_of(1000, 1000), 1);
  EXPECT_LT(many, 1.5 * few) << few;
}

}  // namespace
}  // namespace assay::policy::test
