// SPDX-License-Identifier: Apache-2.0
// What hostile policies and statements cannot do to evaluation.
#include <chrono>

#include <gtest/gtest.h>

#include "policy/conditions.h"
#include "policy/lint.h"
#include "tests/policy/fixture.h"

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
    EXPECT_EQ(verdict.reasons, std::vector{ErrorCode::kConditionUndecided});
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

// Statements times conditions, not more: four times the work takes far less than sixteen times as
// long.
TEST(Limits, ManyStatementsAndConditions_StayLinear) {
  const auto seconds = [](std::uint64_t statements, int conditions) {
    Facts facts = valid_facts();
    for (std::uint64_t i = 0; i < statements; ++i) {
      facts.statements.push_back(
          statement(100 + i, "approve", Json::object(), {signer("carol-1", "carol", "approve")}));
    }
    std::vector<Condition> require(static_cast<std::size_t>(conditions),
                                   condition("c", stage_condition("approve")));
    const PolicyDocument policy = policy_with(std::move(require));
    const auto start = std::chrono::steady_clock::now();
    EXPECT_TRUE(decide(policy, facts).allowed);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  (void)seconds(100, 10);  // warm
  const double small = seconds(1000, 10);
  const double large = seconds(4000, 10);
  EXPECT_LT(large, 12 * small + 0.1);
}

}  // namespace
}  // namespace assay::policy::test
