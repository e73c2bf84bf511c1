// SPDX-License-Identifier: Apache-2.0
// Relations between signers, and statements of named people only.
#include <gtest/gtest.h>

#include "schemas/core/sha.h"
#include "tests/policy/fixture.h"

namespace assay::policy::test {
namespace {

StatementCondition approved_by_none_of(std::vector<std::string> others) {
  StatementCondition condition = stage_condition("approve");
  condition.signers.none_of = std::move(others);
  return condition;
}

StatementCondition evaluated() { return stage_condition("evaluate"); }

// The result of the last condition, beside a manifest condition "published" and the evaluation.
ConditionResult judge_last(const Facts& facts, StatementCondition last) {
  const PolicyDocument policy =
      policy_with({condition("published", ManifestCondition{}), condition("evaluated", evaluated()),
                   condition("last", std::move(last))});
  return decide(policy, facts).policies.front().conditions.at(2);
}

// alice publishes, eve evaluates; whoever is named approves.
Facts facts_approved_by(const std::vector<std::string>& approvers) {
  Facts facts = valid_facts();
  std::erase_if(facts.statements.change(),
                [](const StatementFact& one) { return one.stage == "approve"; });
  std::vector<TrustedKey> keys;
  for (const std::string& who : approvers) {
    keys.push_back(signer(who + "-approves", who));
  }
  facts.statements.push_back(statement(50, "approve", Json::object(), keys));
  return facts;
}

TEST(Relations, ApproverWhoPublished_DoesNotCount) {
  const auto condition = approved_by_none_of({std::string(kPublishers)});
  EXPECT_EQ(judge_last(facts_approved_by({"carol"}), condition).outcome, Outcome::kPass);
  const ConditionResult own = judge_last(facts_approved_by({"alice"}), condition);
  EXPECT_EQ(own.outcome, Outcome::kFail);
  EXPECT_EQ(own.code, Reason::kSignersInsufficient);
  EXPECT_EQ(own.actual["excluded"], Json::array({"alice"}));
  // Another one beside is enough.
  EXPECT_EQ(judge_last(facts_approved_by({"alice", "carol"}), condition).outcome, Outcome::kPass);
}

// The statement has two signers; the machine of the one whom the relation excludes is no evidence.
TEST(Relations, EvidenceOfSomebodyExcluded_DoesNotCount) {
  const TrustedKey own = signer("alice-approves", "alice");
  const TrustedKey other = signer("carol-approves", "carol");
  StatementCondition condition = approved_by_none_of({std::string(kPublishers)});
  condition.evidence.emplace();
  condition.evidence->allow_missing_reference_values = true;
  const auto with_evidence_of = [&](const TrustedKey& key) {
    Facts facts = facts_approved_by({"alice", "carol"});
    StatementFact& statement = facts.statements.change().back();
    StageEvidenceFact evidence{.key = key.id, .type = "tdx", .accepted_at = from_now(-60)};
    evidence.status_then = evidence.status_now = "UpToDate";
    evidence.current = true;
    evidence.anchor = Anchor::root(sha256({}));
    evidence.anchor_is_vendor = true;
    statement.evidence = {evidence};
    return judge_last(facts, condition);
  };
  EXPECT_EQ(with_evidence_of(other).outcome, Outcome::kPass);
  const ConditionResult result = with_evidence_of(own);
  EXPECT_EQ(result.outcome, Outcome::kFail);
  EXPECT_EQ(result.code, Reason::kStageEvidenceMissing);
}

// Another key of the same identity is the same person.
TEST(Relations, IdentitiesCount_NotKeys) {
  Facts facts = facts_approved_by({"eve"});
  const auto condition = approved_by_none_of({"evaluated"});
  EXPECT_EQ(judge_last(facts, condition).outcome, Outcome::kFail);
  EXPECT_EQ(judge_last(facts_approved_by({"carol"}), condition).outcome, Outcome::kPass);
  EXPECT_EQ(judge_last(facts_approved_by({"alice"}), condition).outcome, Outcome::kPass);
  EXPECT_EQ(
      judge_last(facts_approved_by({"alice"}), approved_by_none_of({"evaluated", "published"}))
          .outcome,
      Outcome::kFail);
}

TEST(Relations, NobodyCountsThere_IsAnErrorNotAPass) {
  Facts facts = facts_approved_by({"carol"});
  std::erase_if(facts.statements.change(),
                [](const StatementFact& one) { return one.stage == "evaluate"; });
  const ConditionResult result = judge_last(facts, approved_by_none_of({"evaluated"}));
  EXPECT_EQ(result.outcome, Outcome::kError);
  EXPECT_EQ(result.code, Reason::kSignersRelationUnknown);
}

// Whoever may have signed there may or may not count here.
TEST(Relations, UndecidedThere_IsUndecidedHere) {
  Facts facts = facts_approved_by({"zoe"});
  StatementFact later =
      statement(60, "evaluate", {{"metrics", Json::object()}}, {signer("zoe-evaluates", "zoe")});
  later.accepted_at = from_now(60);
  later.signers.front().signed_at = from_now(60);
  facts.statements.push_back(later);
  EXPECT_EQ(judge_last(facts, approved_by_none_of({"evaluated"})).outcome, Outcome::kError);
}

TEST(Relations, BelowNot_LeaveOutWhoDoesNotCount) {
  const auto judge = [](const std::string& approver) {
    StatementCondition refused = approved_by_none_of({std::string(kPublishers)});
    refused.where = {{"/ok", Comparison::kEqual, true}};
    Facts facts = facts_approved_by({});
    facts.statements.change().back() =
        statement(50, "approve", {{"ok", false}}, {signer(approver + "-a", approver)});
    NotCondition negation;
    negation.of.push_back(condition("refused", std::move(refused)));
    return judge_alone(negation, facts).outcome;
  };
  EXPECT_EQ(judge("carol"), Outcome::kPass);
  EXPECT_EQ(judge("alice"), Outcome::kError);
}

// --- considered

StatementCondition accurate_by(std::vector<std::string> identities) {
  StatementCondition condition = evaluated();
  condition.where = {{"/metrics/accuracy/value", Comparison::kGreaterEqual, 0.8}};
  condition.considered = std::move(identities);
  return condition;
}

Facts with_evaluation(Facts facts, const std::string& who, double accuracy) {
  facts.statements.push_back(statement(70, "evaluate",
                                       {{"metrics", {{"accuracy", {{"value", accuracy}}}}}},
                                       {signer(who + "-evaluates", who)}));
  return facts;
}

TEST(Considered, Others_NeitherHelpNorHarm) {
  const Facts bad_word = with_evaluation(valid_facts(), "mallory", 0.1);
  EXPECT_EQ(judge_alone(accurate_by({}), bad_word).outcome, Outcome::kFail);
  EXPECT_EQ(judge_alone(accurate_by({"eve"}), bad_word).outcome, Outcome::kPass);
  const ConditionResult only = judge_alone(accurate_by({"eve"}), bad_word);
  EXPECT_EQ(only.actual["not_considered"], 1);
  EXPECT_EQ(only.actual["statements"], 1);
  EXPECT_EQ(only.expected["considered"], Json::array({"eve"}));
  // A good word of somebody else does not help.
  const Facts good_word = with_evaluation(valid_facts(), "mallory", 0.99);
  const ConditionResult none = judge_alone(accurate_by({"zoe"}), good_word);
  EXPECT_EQ(none.outcome, Outcome::kFail);
  EXPECT_EQ(none.code, Reason::kStatementMissing);
}

// Others who sign the same statement do not count, and do not make it theirs.
TEST(Considered, OtherSignaturesOnTheStatement_DoNotCount) {
  Facts facts = valid_facts();
  for (StatementFact& one : facts.statements.change()) {
    if (one.stage == "evaluate") {
      one.signers.push_back({signer("mallory-evaluates", "mallory"), one.accepted_at});
    }
  }
  StatementCondition two = accurate_by({"eve"});
  two.signers.at_least = 2;
  EXPECT_EQ(judge_alone(two, facts).outcome, Outcome::kFail);
  StatementCondition all = accurate_by({});
  all.signers.at_least = 2;
  EXPECT_EQ(judge_alone(all, facts).outcome, Outcome::kPass);
}

TEST(Considered, BelowNot_OnlyTheyAreHeard) {
  const auto judge = [](const Facts& facts) {
    NotCondition negation;
    negation.of.push_back(condition("accurate", accurate_by({"mallory"})));
    return judge_alone(negation, facts).outcome;
  };
  EXPECT_EQ(judge(with_evaluation(valid_facts(), "mallory", 0.1)), Outcome::kPass);
  EXPECT_EQ(judge(with_evaluation(valid_facts(), "mallory", 0.9)), Outcome::kFail);
  EXPECT_EQ(judge(with_evaluation(valid_facts(), "zoe", 0.1)), Outcome::kError);
}

}  // namespace
}  // namespace assay::policy::test
