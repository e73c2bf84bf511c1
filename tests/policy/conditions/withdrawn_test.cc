// SPDX-License-Identifier: Apache-2.0
// A statement that was withdrawn counts for nothing, and is an error below a `not`.
#include <gtest/gtest.h>

#include "policy/signers.h"
#include "tests/policy/fixture.h"

namespace assay::policy::test {
namespace {

const WithdrawnFact kWithdrawn{"incorrect", from_now(-60), {"olga", "eve"}};

template <typename Facts, typename Fits>
void withdraw(Facts& facts, Fits fits) {
  for (auto& fact : facts.change()) {
    if (fits(fact)) {
      fact.withdrawn = kWithdrawn;
    }
  }
}

Facts without_stage(const std::string& stage) {
  Facts facts = valid_facts();
  withdraw(facts.statements, [&](const StatementFact& fact) { return fact.stage == stage; });
  return facts;
}

Facts without_manifest() {
  Facts facts = valid_facts();
  for (ManifestFact& manifest : facts.manifests.change()) {
    manifest.statement.withdrawn = kWithdrawn;
  }
  return facts;
}

TEST(Withdrawn, Statement_NeverCounts) {
  ASSERT_EQ(judge_alone(stage_condition("evaluate"), valid_facts()).outcome, Outcome::kPass);
  for (const Quantifier quantifier : {Quantifier::kEvery, Quantifier::kAny, Quantifier::kLatest}) {
    StatementCondition condition = stage_condition("evaluate");
    condition.quantifier = quantifier;
    const ConditionResult result = judge_alone(condition, without_stage("evaluate"));
    EXPECT_EQ(result.outcome, Outcome::kFail);
    EXPECT_EQ(result.code, Reason::kStatementWithdrawn);
    EXPECT_EQ(result.actual["withdrawn"].size(), 1U);
    EXPECT_EQ(result.actual["withdrawn"][0]["reason"], "incorrect");
    EXPECT_EQ(result.actual["withdrawn"][0]["by"], (Json{"eve", "olga"}));
  }
  EXPECT_EQ(judge_alone(stage_condition("approve"), without_stage("evaluate")).outcome,
            Outcome::kPass)
      << "others still count";
}

TEST(Withdrawn, OneOfTwoApprovals_LeavesTooFew) {
  StatementCondition condition = stage_condition("approve");
  condition.signers.at_least = 2;
  Facts facts = valid_facts();
  ASSERT_EQ(judge_alone(condition, facts).outcome, Outcome::kPass);
  bool done = false;
  withdraw(facts.statements, [&](const StatementFact& fact) {
    const bool one = !done && fact.stage == "approve";
    done = done || one;
    return one;
  });
  const ConditionResult result = judge_alone(condition, facts);
  EXPECT_EQ(result.outcome, Outcome::kFail);
  EXPECT_EQ(result.code, Reason::kSignersInsufficient);
  EXPECT_EQ(result.actual["withdrawn"].size(), 1U);
}

TEST(Withdrawn, BelowNot_IsAnError) {
  StatementCondition bad = stage_condition("evaluate");
  bad.where = {{"/metrics/accuracy/value", Comparison::kLess, 0.5}};
  const NotCondition negation{{condition("bad", bad)}};
  EXPECT_EQ(judge_alone(negation, valid_facts()).outcome, Outcome::kPass)
      << "the evaluation says otherwise";
  EXPECT_EQ(judge_alone(negation, without_stage("evaluate")).outcome, Outcome::kError)
      << "nobody says anything any more";
  const NotCondition unpublished{{manifest_condition()}};
  EXPECT_EQ(judge_alone(unpublished, without_manifest()).outcome, Outcome::kError);
}

// Nothing is known of a model whose last statement was withdrawn, whatever the one before said.
TEST(Withdrawn, LatestBelowNot_IsNotTheOneBefore) {
  StatementCondition bad = stage_condition("evaluate");
  bad.where = {{"/metrics/accuracy/value", Comparison::kLess, 0.5}};
  bad.quantifier = Quantifier::kLatest;
  Facts facts = valid_facts();
  StatementFact later = facts.statements.front();
  for (const StatementFact& fact : facts.statements) {
    later = fact.stage == "evaluate" ? fact : later;
  }
  later.id = statement_id(77);
  later.log_index = 77;
  later.withdrawn = kWithdrawn;
  facts.statements.push_back(later);
  EXPECT_EQ(judge_alone(NotCondition{{condition("bad", bad)}}, facts).outcome, Outcome::kError);
  facts.statements.change().back().withdrawn.reset();
  EXPECT_EQ(judge_alone(NotCondition{{condition("bad", bad)}}, facts).outcome, Outcome::kPass);
}

TEST(Withdrawn, Manifest_GivesNothing) {
  const Facts facts = without_manifest();
  const ConditionResult result = judge_alone(manifest_condition().kind, facts);
  EXPECT_EQ(result.outcome, Outcome::kFail);
  EXPECT_EQ(result.code, Reason::kStatementWithdrawn);
  EXPECT_EQ(result.actual["withdrawn"].size(), 1U);
  const ConditionResult parameters = judge_alone(ParametersCondition{}, facts);
  EXPECT_EQ(parameters.outcome, Outcome::kError);
  EXPECT_EQ(parameters.code, Reason::kStatementWithdrawn);
  const PolicyDocument policy = policy_with({manifest_condition()});
  const JudgedFacts judged = judge_all(facts, policy);
  EXPECT_TRUE(names_of(publisher_demands(policy), judged, "").empty()) << "no name";
  EXPECT_TRUE(locations_of(policy, judged, "").counted.empty()) << "no location";
  EXPECT_EQ(decide(valid_policy(), facts).allowed, false);
  EXPECT_EQ(decide(valid_policy(), valid_facts()).allowed, true);
}

TEST(Withdrawn, Placement_GivesNoLocation) {
  Facts facts = valid_facts();
  facts.placements.push_back({statement(50, "", nullptr, {publisher("pub", "alice")}),
                              "acme/demo",
                              {"pvc://serving/moved"}});
  const PolicyDocument policy = policy_with({manifest_condition()});
  EXPECT_TRUE(
      locations_of(policy, judge_all(facts, policy), "").counted.contains("pvc://serving/moved"));
  facts.placements.change().front().statement.withdrawn = kWithdrawn;
  EXPECT_FALSE(
      locations_of(policy, judge_all(facts, policy), "").counted.contains("pvc://serving/moved"));
}

TEST(Withdrawn, IsPartOfTheFacts) {
  Facts facts = without_stage("evaluate");
  for (ManifestFact& manifest : facts.manifests.change()) {
    manifest.statement.withdrawn = kWithdrawn;
  }
  const Json json = to_json(facts);
  const auto again = facts_from_json(json);
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_EQ(to_json(*again), json);
  EXPECT_NE(json, to_json(valid_facts()));
  EXPECT_EQ(again->manifests.front().statement.withdrawn->since, kWithdrawn.since);
  Json broken = json;
  broken["manifests"][0]["withdrawn"]["by"] = "eve";
  EXPECT_FALSE(facts_from_json(broken)) << "never read as not withdrawn";
  broken["manifests"][0]["withdrawn"] = nullptr;
  EXPECT_FALSE(facts_from_json(broken));
}

}  // namespace
}  // namespace assay::policy::test
