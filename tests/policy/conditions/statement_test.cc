// SPDX-License-Identifier: Apache-2.0
// Conditions about statements: quantifiers, tests, thresholds, age.
#include <gtest/gtest.h>

#include "schemas/manifest.h"
#include "tests/policy/fixture.h"

namespace assay::policy::test {
namespace {

void expect(const ConditionResult& result, Outcome outcome, std::optional<Reason> code) {
  EXPECT_EQ(result.outcome, outcome);
  EXPECT_EQ(result.code, code);
}

const PredicateTest kAccurate = {"/accuracy", Comparison::kGreaterEqual, 0.8};

// Statements of stage `evaluate` by eve with these accuracies, oldest first.
Facts evaluated(std::vector<Json> accuracies) {
  Facts facts = valid_facts();
  facts.statements.clear();
  for (Json& accuracy : accuracies) {
    const std::uint64_t number = 10 + facts.statements.size();
    facts.statements.push_back(statement(number, "evaluate", {{"accuracy", std::move(accuracy)}},
                                         {signer("eve-1", "eve", "evaluate")}));
  }
  return facts;
}

StatementCondition accurate(Quantifier quantifier) {
  StatementCondition condition = stage_condition("evaluate");
  condition.where = {kAccurate};
  condition.quantifier = quantifier;
  return condition;
}

ConditionResult judge_accuracy(std::vector<Json> accuracies, Quantifier quantifier) {
  return judge_alone(accurate(quantifier), evaluated(std::move(accuracies)));
}

TEST(StatementCondition, OneGoodStatement_Passes) {
  const ConditionResult result = judge_accuracy({0.9}, Quantifier::kEvery);
  expect(result, Outcome::kPass, std::nullopt);
  EXPECT_EQ(result.expected["quantifier"], "every");
  EXPECT_EQ(result.expected["stage"], "evaluate");
  EXPECT_EQ(result.actual["identities"], Json::array({"eve"}));
  EXPECT_EQ(result.actual["statements"], 1);
  EXPECT_EQ(result.evidence, std::vector{statement_id(10).text()});
}

TEST(StatementCondition, NoneOfTheKind_IsMissing) {
  for (const Quantifier quantifier : {Quantifier::kEvery, Quantifier::kAny, Quantifier::kLatest}) {
    expect(judge_accuracy({}, quantifier), Outcome::kFail, Reason::kStatementMissing);
  }
}

TEST(StatementCondition, OtherStage_IsMissing) {
  expect(judge_alone(stage_condition("quantize"), valid_facts()), Outcome::kFail,
         Reason::kStatementMissing);
}

TEST(StatementCondition, OtherPredicateType_IsMissing) {
  StatementCondition condition;
  condition.predicate_type = kLicenceType;
  Facts facts = valid_facts();
  expect(judge_alone(condition, facts), Outcome::kFail, Reason::kStatementMissing);
  facts.statements.push_back(foreign_statement(9, kLicenceType, Json::object(),
                                               {signer("l", "legal", "*", kLicenceType)}));
  expect(judge_alone(condition, facts), Outcome::kPass, std::nullopt);
}

TEST(StatementCondition, LifecycleWithoutStage_MatchesNoStage) {
  expect(judge_alone(stage_condition(""), valid_facts()), Outcome::kFail,
         Reason::kStatementMissing);
}

TEST(StatementCondition, SignerThatDoesNotCount_IsAsIfItWereNotThere) {
  Facts facts = evaluated({0.9});
  facts.statements.front().signers.front().key = revoked(signer("eve-1", "eve"), now());
  const ConditionResult result = judge_alone(accurate(Quantifier::kEvery), facts);
  expect(result, Outcome::kFail, Reason::kStatementMissing);
  EXPECT_EQ(result.actual["rejected"],
            Json::array({{{"identity", "eve"}, {"code", "key-revoked"}}}));
  EXPECT_EQ(result.evidence, std::vector{statement_id(10).text()});
}

TEST(StatementCondition, RevokedRefusal_IsWithdrawn) {
  Facts facts = evaluated({0.9, 0.1});
  expect(judge_alone(accurate(Quantifier::kEvery), facts), Outcome::kFail,
         Reason::kPredicateMismatch);
  facts.statements.back().signers = {{revoked(signer("other", "mallory"), now()), from_now(-3600)}};
  expect(judge_alone(accurate(Quantifier::kEvery), facts), Outcome::kPass, std::nullopt);
}

TEST(StatementCondition, Every_FailsOnOneBadStatement) {
  for (const auto& values : {std::vector<Json>{0.9, 0.1}, {0.1, 0.9}, {0.1}}) {
    expect(judge_accuracy(values, Quantifier::kEvery), Outcome::kFail, Reason::kPredicateMismatch);
  }
}

TEST(StatementCondition, Any_PassesOnOneGoodStatement) {
  for (const auto& values : {std::vector<Json>{0.9, 0.1}, {0.1, 0.9}, {"no number", 0.9}}) {
    expect(judge_accuracy(values, Quantifier::kAny), Outcome::kPass, std::nullopt);
  }
  expect(judge_accuracy({0.1, 0.2}, Quantifier::kAny), Outcome::kFail, Reason::kPredicateMismatch);
}

TEST(StatementCondition, Latest_JudgesTheNewestAlone) {
  expect(judge_accuracy({0.1, 0.9}, Quantifier::kLatest), Outcome::kPass, std::nullopt);
  expect(judge_accuracy({0.9, 0.1}, Quantifier::kLatest), Outcome::kFail,
         Reason::kPredicateMismatch);
}

TEST(StatementCondition, Latest_IsByLogIndexNotByPlace) {
  Facts facts = evaluated({0.1, 0.9});
  std::swap(facts.statements.front(), facts.statements.back());
  expect(judge_alone(accurate(Quantifier::kLatest), facts), Outcome::kPass, std::nullopt);
}

// Somebody who is not asked pushed the refusal first. Whoever is asked accepted, and refuses now.
TEST(StatementCondition, Latest_IsWhatWasSignedLast_WhoeverPushedItFirst) {
  Facts facts = evaluated({0.1, 0.9});
  const SignerFact asked = facts.statements.back().signers.front();
  StatementFact& refusal = facts.statements.front();
  refusal.signers = {{signer("other", "mallory"), asked.signed_at - std::chrono::seconds(60)}};
  StatementCondition condition = accurate(Quantifier::kLatest);
  condition.considered = {asked.key.identity};
  expect(judge_alone(condition, facts), Outcome::kPass, std::nullopt);
  refusal.signers.push_back({asked.key, asked.signed_at + std::chrono::seconds(1)});
  expect(judge_alone(condition, facts), Outcome::kFail, Reason::kPredicateMismatch);
  refusal.signers.back().key = revoked(asked.key, now());
  facts.statements.back().signers = {{signer("eve-2", "eve"), asked.signed_at}};
  expect(judge_alone(condition, facts), Outcome::kPass, std::nullopt);
}

TEST(StatementCondition, WithdrawnByOne_IsStillSaidByTheOther) {
  Facts facts = evaluated({0.1});
  StatementFact& refusal = facts.statements.front();
  const std::string first = refusal.signers.front().key.identity;
  refusal.signers.push_back({signer("other", "other"), refusal.signers.front().signed_at});
  refusal.withdrawn = WithdrawnFact{"other", now(), {first}, false};
  expect(judge_alone(accurate(Quantifier::kEvery), facts), Outcome::kFail,
         Reason::kPredicateMismatch);
  refusal.withdrawn->by.push_back("other");
  expect(judge_alone(accurate(Quantifier::kEvery), facts), Outcome::kFail,
         Reason::kStatementWithdrawn);
  refusal.withdrawn = WithdrawnFact{"other", now(), {"olga"}, true};
  expect(judge_alone(accurate(Quantifier::kEvery), facts), Outcome::kFail,
         Reason::kStatementWithdrawn);
}

TEST(StatementCondition, Latest_PassesOverWithdrawnStatements) {
  Facts facts = evaluated({0.9, 0.1});
  facts.statements.back().signers.front().key = revoked(signer("x", "eve"), now());
  expect(judge_alone(accurate(Quantifier::kLatest), facts), Outcome::kPass, std::nullopt);
}

Facts refused_then_old_acceptance_signed_again(const TrustedKey& again) {
  Facts facts = evaluated({0.9, 0.1});
  const Timestamp last = facts.statements.back().signers.front().signed_at;
  facts.statements.change().front().signers.push_back({again, last + std::chrono::seconds(1)});
  return facts;
}

// eve accepted, then refused. Another one with the role signs her old acceptance.
TEST(StatementCondition, Latest_WhoeverSignsAnOldOneAgain_BringsBackNobodyElsesWord) {
  StatementCondition condition = accurate(Quantifier::kLatest);
  condition.signers.identities = {"eve"};
  expect(judge_alone(condition, evaluated({0.9, 0.1})), Outcome::kFail, Reason::kPredicateMismatch);
  const Facts facts =
      refused_then_old_acceptance_signed_again(signer("paul-1", "paul", "evaluate"));
  EXPECT_NE(judge_alone(condition, facts).outcome, Outcome::kPass) << "listed";
  condition.signers = {};
  condition.signers.at_least = 2;
  EXPECT_NE(judge_alone(condition, facts).outcome, Outcome::kPass) << "two people";
}

// The one who signs again is excluded (a publisher).
TEST(StatementCondition, Latest_SignedAgainByAnExcludedOne_DoesNotPass) {
  StatementCondition condition = accurate(Quantifier::kLatest);
  condition.signers.none_of = {std::string(kPublishers)};
  const Facts facts =
      refused_then_old_acceptance_signed_again(signer("alice-e", "alice", "evaluate"));
  EXPECT_NE(judge_alone(condition, facts).outcome, Outcome::kPass);
}

// A key without any role for it (another namespace).
TEST(StatementCondition, LatestBelowNot_SignatureThatDoesNotCount_DecidesNothing) {
  StatementCondition bad = stage_condition("evaluate");
  bad.where = {{"/accuracy", Comparison::kLess, 0.5}};
  bad.quantifier = Quantifier::kLatest;
  Facts facts = evaluated({0.9, 0.1});
  const Timestamp last = facts.statements.back().signers.front().signed_at;
  facts.statements.change().back().signers.front().key = revoked(signer("eve-2", "eve"), now());
  const NotCondition negation{{policy::test::condition("bad", bad)}};
  EXPECT_EQ(judge_alone(negation, facts).outcome, Outcome::kError) << "before";
  facts.statements.change().front().signers.push_back(
      {signer("mallory-1", "mallory", "evaluate", {}, "mallory"), last + std::chrono::seconds(1)});
  EXPECT_EQ(judge_alone(negation, facts).outcome, Outcome::kError) << "stranger";
}

// Who withdrew his signature on the manifest approves as somebody independent.
TEST(StatementCondition, NoneOf_ExcludesWhoTookHisSignatureBack) {
  Facts facts = valid_facts();
  StatementFact& published = facts.manifests.change().front().statement;
  published.signers.push_back({publisher("carol-p", "carol"), published.signers.front().signed_at});
  std::erase_if(facts.statements.change(),
                [](const StatementFact& one) { return one.stage == "approve"; });
  facts.statements.push_back(
      statement(50, "approve", Json::object(), {signer("carol-a", "carol")}));
  StatementCondition condition = stage_condition("approve");
  condition.signers.none_of = {std::string(kPublishers)};
  EXPECT_NE(judge_alone(condition, facts).outcome, Outcome::kPass) << "before";
  published.withdrawn = WithdrawnFact{"other", now(), {"carol"}, false};
  EXPECT_NE(judge_alone(condition, facts).outcome, Outcome::kPass) << "after";
}

TEST(StatementCondition, Failure_NamesPointerExpectedActualStatement) {
  const ConditionResult result = judge_accuracy({0.9, 0.1}, Quantifier::kEvery);
  EXPECT_EQ(result.actual["failures"], Json::array({{{"statement", statement_id(11).text()},
                                                     {"code", "predicate-mismatch"},
                                                     {"pointer", "/accuracy"},
                                                     {"op", ">="},
                                                     {"expected", 0.8},
                                                     {"actual", 0.1}}}));
}

TEST(StatementCondition, ValueMissing_IsAnError) {
  Facts facts = evaluated({0.9});
  facts.statements.front().predicate = Json::object();
  const ConditionResult result = judge_alone(accurate(Quantifier::kEvery), facts);
  expect(result, Outcome::kError, Reason::kValueMissing);
  EXPECT_FALSE(result.actual["failures"][0].contains("actual"));
}

TEST(StatementCondition, ValueOfAnotherKind_IsAnError) {
  expect(judge_accuracy({"0.9"}, Quantifier::kEvery), Outcome::kError, Reason::kConditionUndecided);
  expect(judge_accuracy({Json::array({0.9})}, Quantifier::kAny), Outcome::kError,
         Reason::kConditionUndecided);
}

TEST(StatementCondition, FailBeatsErrorForEvery) {
  expect(judge_accuracy({"x", 0.1}, Quantifier::kEvery), Outcome::kFail,
         Reason::kPredicateMismatch);
  expect(judge_accuracy({"x", 0.9}, Quantifier::kEvery), Outcome::kError,
         Reason::kConditionUndecided);
}

TEST(StatementCondition, SeveralTests_AllMustHold) {
  StatementCondition condition = accurate(Quantifier::kEvery);
  condition.where.push_back({"/suite", Comparison::kEqual, "v2"});
  Facts facts = evaluated({0.9});
  facts.statements.front().predicate["suite"] = "v2";
  expect(judge_alone(condition, facts), Outcome::kPass, std::nullopt);
  facts.statements.front().predicate["suite"] = "v1";
  expect(judge_alone(condition, facts), Outcome::kFail, Reason::kPredicateMismatch);
  facts.statements.front().predicate.erase("accuracy");  // an error beside the failure
  const ConditionResult result = judge_alone(condition, facts);
  expect(result, Outcome::kFail, Reason::kPredicateMismatch);
  EXPECT_EQ(result.actual["failures"].size(), 2U);
}

StatementCondition approved_by(std::size_t at_least, std::vector<std::string> identities = {}) {
  StatementCondition condition = stage_condition("approve");
  condition.signers = {at_least, std::move(identities)};
  return condition;
}

TEST(StatementCondition, TwoApprovals_NeedTwoIdentities) {
  Facts facts = valid_facts();
  expect(judge_alone(approved_by(2), facts), Outcome::kPass, std::nullopt);
  facts.statements.back().signers = {{signer("carol-2", "carol", "approve"), from_now(-3600)}};
  const ConditionResult result = judge_alone(approved_by(2), facts);
  expect(result, Outcome::kFail, Reason::kSignersInsufficient);
  EXPECT_EQ(result.expected["at_least"], 2);
  EXPECT_EQ(result.actual["identities"], Json::array({"carol"}));
}

TEST(StatementCondition, TwoSignaturesOnOneStatement_CountAsTwo) {
  Facts facts = valid_facts();
  facts.statements = {statement(9, "approve", Json::object(),
                                {signer("c", "carol", "approve"), signer("d", "dave", "approve")})};
  expect(judge_alone(approved_by(2), facts), Outcome::kPass, std::nullopt);
}

TEST(StatementCondition, ApproverWhoIsNotListed_DoesNotCount) {
  const ConditionResult result = judge_alone(approved_by(2, {"carol", "frank"}), valid_facts());
  expect(result, Outcome::kFail, Reason::kSignersInsufficient);
  EXPECT_EQ(result.actual["unlisted"], Json::array({"dave"}));
  expect(judge_alone(approved_by(1, {"carol", "frank"}), valid_facts()), Outcome::kPass,
         std::nullopt);
}

// Whoever has the role may refuse, listed or not.
TEST(StatementCondition, BadStatementByUnlistedSigner_StillFailsEvery) {
  StatementCondition condition = accurate(Quantifier::kEvery);
  condition.signers.identities = {"eve"};
  Facts facts = evaluated({0.9, 0.1});
  facts.statements.back().signers = {{signer("f", "frank", "evaluate"), from_now(-3600)}};
  expect(judge_alone(condition, facts), Outcome::kFail, Reason::kPredicateMismatch);
  condition.quantifier = Quantifier::kAny;
  expect(judge_alone(condition, facts), Outcome::kPass, std::nullopt);
}

TEST(StatementCondition, AnyWithThreshold_CountsOnlyThosePassing) {
  StatementCondition condition = accurate(Quantifier::kAny);
  condition.signers.at_least = 2;
  Facts facts = evaluated({0.9, 0.1});
  facts.statements.back().signers = {{signer("f", "frank", "evaluate"), from_now(-3600)}};
  expect(judge_alone(condition, facts), Outcome::kFail, Reason::kSignersInsufficient);
  facts.statements.back().predicate["accuracy"] = "unreadable";
  expect(judge_alone(condition, facts), Outcome::kError, Reason::kConditionUndecided);
  facts.statements.back().predicate["accuracy"] = 0.85;
  expect(judge_alone(condition, facts), Outcome::kPass, std::nullopt);
}

TEST(StatementCondition, ErrorThatCannotReachTheThreshold_IsAFailure) {
  StatementCondition condition = accurate(Quantifier::kEvery);
  condition.signers.at_least = 3;
  Facts facts = evaluated({0.9, "unreadable"});
  expect(judge_alone(condition, facts), Outcome::kFail, Reason::kSignersInsufficient);
}

TEST(StatementCondition, MaxAge_CountsFromTheLogEntry) {
  StatementCondition condition = stage_condition("evaluate");
  Facts facts = evaluated({0.9});  // accepted an hour ago
  condition.max_age_seconds = 3600;
  expect(judge_alone(condition, facts), Outcome::kPass, std::nullopt);
  condition.max_age_seconds = 3599;
  const ConditionResult result = judge_alone(condition, facts);
  expect(result, Outcome::kFail, Reason::kStatementStale);
  EXPECT_EQ(result.actual["failures"][0]["age_seconds"], 3600);
  EXPECT_EQ(result.actual["failures"][0]["max_age_seconds"], 3599);
}

TEST(StatementCondition, MaxAgeByOneMillisecond_IsStale) {
  StatementCondition condition = stage_condition("evaluate");
  condition.max_age_seconds = 3600;
  Facts facts = evaluated({0.9});
  facts.statements.front().accepted_at -= std::chrono::milliseconds(1);
  expect(judge_alone(condition, facts), Outcome::kFail, Reason::kStatementStale);
}

TEST(StatementCondition, EndlessMaxAge_DoesNotOverflow) {
  StatementCondition condition = stage_condition("evaluate");
  for (const std::uint64_t age :
       {static_cast<std::uint64_t>(kMaxSafeInteger), std::numeric_limits<std::uint64_t>::max()}) {
    condition.max_age_seconds = age;
    expect(judge_alone(condition, evaluated({0.9})), Outcome::kPass, std::nullopt);
  }
}

TEST(StatementCondition, AcceptedAfterNow_IsAnErrorWhateverItSays) {
  Facts facts = evaluated({0.1});
  facts.statements.front().accepted_at = now() + std::chrono::milliseconds(1);
  facts.statements.front().signers.front().signed_at = facts.statements.front().accepted_at;
  for (const Quantifier quantifier : {Quantifier::kEvery, Quantifier::kAny, Quantifier::kLatest}) {
    expect(judge_alone(accurate(quantifier), facts), Outcome::kError, Reason::kConditionUndecided);
  }
}

TEST(StatementCondition, SecondSignatureAfterNow_IsAnError) {
  Facts facts = valid_facts();
  facts.statements.back().signers.front().signed_at = from_now(1);
  expect(judge_alone(approved_by(2), facts), Outcome::kError, Reason::kConditionUndecided);
}

TEST(StatementCondition, ManifestPredicate_IsNoStatement) {
  StatementCondition condition;
  condition.predicate_type = kManifestPredicateType;
  expect(judge_alone(condition, valid_facts()), Outcome::kFail, Reason::kStatementMissing);
}

}  // namespace
}  // namespace assay::policy::test
