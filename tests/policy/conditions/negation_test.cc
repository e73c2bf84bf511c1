// SPDX-License-Identifier: Apache-2.0
// `not` turns round only what was judged and found wrong in the thing itself. What is missing,
// expired, revoked, stale or said by too few is an error below it.
#include <functional>

#include <gtest/gtest.h>

#include "tests/policy/fixture.h"

namespace assay::policy::test {
namespace {

ConditionResult negated(ConditionKind kind, const Facts& facts) {
  NotCondition negation;
  negation.of = {condition("part", std::move(kind))};
  return judge_on_node(std::move(negation), facts);
}

// The `not` and its part are errors, the part with this code.
void expect_error(const ConditionResult& result, Reason code) {
  EXPECT_EQ(result.outcome, Outcome::kError) << to_json(result).dump();
  EXPECT_EQ(result.parts.at(0).outcome, Outcome::kError);
  EXPECT_EQ(result.parts.at(0).code, code);
}

void expect_turned(const ConditionResult& result, Reason code) {
  EXPECT_EQ(result.outcome, Outcome::kPass) << to_json(result).dump();
  EXPECT_EQ(result.parts.at(0).outcome, Outcome::kFail);
  EXPECT_EQ(result.parts.at(0).code, code);
}

// --- One signature

struct KeyCase {
  const char* what;
  std::function<void(TrustedKey&)> change;
  Reason code;
};

std::vector<KeyCase> key_cases() {
  return {
      {"revoked", [](TrustedKey& key) { key.revoked = Revocation{now(), "stolen"}; },
       Reason::kKeyRevoked},
      {"expired", [](TrustedKey& key) { key.not_after = from_now(-7200); }, Reason::kKeyExpired},
      {"not yet valid", [](TrustedKey& key) { key.not_before = from_now(-1800); },
       Reason::kKeyNotYetValid},
      {"no role", [](TrustedKey& key) { key.roles.clear(); }, Reason::kRoleNotGranted},
      {"other purpose", [](TrustedKey& key) { key.purpose = KeyPurpose::kWorker; },
       Reason::kWrongPurpose}};
}

TEST(Negation, ManifestWhoseKeyDoesNotCount_IsAnError) {
  for (const KeyCase& one : key_cases()) {
    SCOPED_TRACE(one.what);
    Facts facts = facts_on_node();
    one.change(facts.manifests.front().statement.signers.front().key);
    expect_error(negated(ManifestCondition{}, facts), one.code);
  }
}

TEST(Negation, ManifestBySomebodyElse_IsAnError) {
  expect_error(negated(ManifestCondition{{1, {"bob"}}}, facts_on_node()),
               Reason::kSignersInsufficient);
}

// --- Statements

constexpr std::string_view kFree = "free";
constexpr std::string_view kBound = "non-commercial";

StatementFact licence(std::uint64_t number, std::string_view value, std::string_view identity) {
  return foreign_statement(number, kLicenceType, {{"licence", value}},
                           {signer(identity, identity, "", kLicenceType)});
}

Facts with_licences(std::vector<StatementFact> statements) {
  Facts facts = facts_on_node();
  facts.statements = std::move(statements);
  return facts;
}

// "Somebody calls it non-commercial", to stand below a `not`.
StatementCondition bound(Quantifier quantifier = Quantifier::kAny) {
  StatementCondition condition;
  condition.predicate_type = kLicenceType;
  condition.where = {{"/licence", Comparison::kEqual, std::string(kBound)}};
  condition.quantifier = quantifier;
  return condition;
}

TEST(Negation, AnotherValue_TurnsRound) {
  for (const Quantifier quantifier : {Quantifier::kEvery, Quantifier::kAny, Quantifier::kLatest}) {
    expect_turned(negated(bound(quantifier), with_licences({licence(10, kFree, "ann")})),
                  Reason::kPredicateMismatch);
    EXPECT_EQ(negated(bound(quantifier), with_licences({licence(10, kBound, "ann")})).outcome,
              Outcome::kFail);
  }
}

TEST(Negation, OnlyStatementByAKeyThatDoesNotCount_IsAnError) {
  for (const KeyCase& one : key_cases()) {
    SCOPED_TRACE(one.what);
    Facts facts = with_licences({licence(10, kFree, "ann")});
    one.change(facts.statements.front().signers.front().key);
    expect_error(negated(bound(), facts), Reason::kStatementMissing);
  }
}

// Whoever can have a key revoked, or wait until it expires, must not open what it closed.
TEST(Negation, WithdrawnStatementBesideAnotherValue_IsAnError) {
  for (const KeyCase& one : key_cases()) {
    SCOPED_TRACE(one.what);
    Facts facts = with_licences({licence(10, kFree, "ann"), licence(11, kBound, "ben")});
    EXPECT_EQ(negated(bound(), facts).outcome, Outcome::kFail);
    one.change(facts.statements.back().signers.front().key);
    expect_error(negated(bound(Quantifier::kAny), facts), one.code);
    EXPECT_EQ(negated(bound(Quantifier::kLatest), facts).outcome, Outcome::kError);
  }
}

// One statement with another value decides `every`, whatever a withdrawn one said.
TEST(Negation, EveryWithAWithdrawnStatementBesideAnotherValue_TurnsRound) {
  Facts facts = with_licences({licence(10, kFree, "ann"), licence(11, kBound, "ben")});
  TrustedKey& key = facts.statements.back().signers.front().key;
  key = revoked(std::move(key), now());
  expect_turned(negated(bound(Quantifier::kEvery), facts), Reason::kPredicateMismatch);
}

TEST(Negation, StaleStatement_IsAnErrorWhateverItSays) {
  for (const std::string_view value : {kFree, kBound}) {
    for (const Quantifier quantifier :
         {Quantifier::kEvery, Quantifier::kAny, Quantifier::kLatest}) {
      StatementCondition condition = bound(quantifier);
      condition.max_age_seconds = 3599;
      expect_error(negated(condition, with_licences({licence(10, value, "ann")})),
                   Reason::kStatementStale);
    }
  }
}

TEST(Negation, StaleStatementBesideAnotherValue_IsAnErrorForAny) {
  StatementCondition condition = bound();
  condition.max_age_seconds = 3600;
  Facts facts = with_licences({licence(10, kBound, "ben"), licence(11, kFree, "ann")});
  facts.statements.front().accepted_at = from_now(-3601);
  expect_error(negated(condition, facts), Reason::kStatementStale);
  condition.quantifier = Quantifier::kLatest;
  expect_turned(negated(condition, facts), Reason::kPredicateMismatch);
  condition.quantifier = Quantifier::kEvery;
  expect_turned(negated(condition, facts), Reason::kPredicateMismatch);
}

TEST(Negation, TooFewIdentities_IsAnError) {
  StatementCondition condition = bound();
  condition.signers.at_least = 2;
  expect_error(negated(condition, with_licences({licence(10, kFree, "ann")})),
               Reason::kSignersInsufficient);
  expect_error(negated(condition, with_licences({licence(10, kBound, "ann")})),
               Reason::kSignersInsufficient);
  expect_turned(
      negated(condition, with_licences({licence(10, kFree, "ann"), licence(11, kFree, "ben")})),
      Reason::kPredicateMismatch);
}

// A signer whom the condition does not ask cannot answer for the one whom it asks.
TEST(Negation, AnotherValueByAnUnlistedIdentity_IsAnError) {
  StatementCondition condition = bound();
  condition.signers.identities = {"ann"};
  expect_error(negated(condition, with_licences({licence(10, kFree, "ben")})),
               Reason::kSignersInsufficient);
  expect_turned(
      negated(condition, with_licences({licence(10, kBound, "ben"), licence(11, kFree, "ann")})),
      Reason::kPredicateMismatch);
}

// A revoked signature of somebody listed, beside a good one of somebody who is not.
TEST(Negation, WithdrawnSignatureOnAStatementThatStands_IsAnError) {
  StatementCondition condition = bound();
  condition.signers.identities = {"ann"};
  Facts facts = with_licences({licence(10, kBound, "ben"), licence(11, kFree, "ann")});
  facts.statements.front().signers.push_back(facts.statements.back().signers.front());
  TrustedKey& key = facts.statements.front().signers.back().key;
  key = revoked(std::move(key), now());
  EXPECT_EQ(negated(condition, facts).outcome, Outcome::kError);
}

// A decision is replayed from facts whose signers may come in another order.
TEST(Negation, OrderOfSigners_DoesNotChangeTheCode) {
  Facts facts = with_licences({licence(10, kFree, "ann"), licence(11, kBound, "ben")});
  std::vector<SignerFact>& signers = facts.statements.back().signers;
  signers.push_back({signer("cat", "cat", "train"), signers.front().signed_at});
  signers.front().key.purpose = KeyPurpose::kWorker;
  expect_error(negated(bound(), facts), Reason::kRoleNotGranted);
  std::swap(signers.front(), signers.back());
  expect_error(negated(bound(), facts), Reason::kRoleNotGranted);
}

// --- Parameters, nodes, reports

TEST(Negation, OtherParameters_TurnRound) {
  expect_turned(negated(ParametersCondition{{"sha384"}, {}}, facts_on_node()),
                Reason::kParametersMismatch);
}

TEST(Negation, OtherStatusOfANode_TurnsRoundOnlyWhileEverythingElseHolds) {
  NodeCondition condition;
  condition.tcb_status = {"OutOfDate"};
  expect_turned(negated(condition, facts_on_node()), Reason::kTcbNotAccepted);
  Facts facts = facts_on_node();
  facts.node->revoked = Revocation{now(), "stolen"};
  expect_error(negated(condition, facts), Reason::kNodeRevoked);
  facts = facts_on_node();
  facts.node->appraised_at = from_now(1);
  expect_error(negated(condition, facts), Reason::kConditionUndecided);
}

TEST(Negation, Mismatch_TurnsRoundOnlyWhileTheReportCounts) {
  ReportCondition condition;
  condition.max_age_seconds = 3600;
  Facts facts = facts_on_node();
  facts.reports[0].result = "mismatch";
  expect_turned(negated(condition, facts), Reason::kModelMismatch);
  const std::vector<std::function<void(ReportFact&)>> doubts = {
      [](ReportFact& report) { report.read_since = from_now(-3601); },
      [](ReportFact& report) { report.read_since = from_now(1); },
      [](ReportFact& report) { report.reported_at = from_now(1); },
      [](ReportFact& report) { report.worker_measured = false; },
      [](ReportFact& report) { report.appraisal_current = false; }};
  for (const auto& doubt : doubts) {
    Facts doubtful = facts;
    doubt(doubtful.reports[0]);
    expect_error(negated(condition, doubtful), Reason::kConditionUndecided);
  }
}

// One place where the model is known to be wrong is enough; which place comes first is chance.
TEST(Negation, MismatchAtOneOfSeveralPlaces_TurnsRoundWhereverItsReportCounts) {
  ReportCondition condition;
  condition.max_age_seconds = 3600;
  Facts facts = facts_on_node();
  facts.reports.push_back(report_fact());
  facts.reports[0].location = "hostpath:///a";
  facts.reports[1].location = "hostpath:///b";
  for (const std::size_t doubtful : {0U, 1U}) {
    Facts two = facts;
    two.reports[doubtful].result = "mismatch";
    two.reports[doubtful].read_since = from_now(-3601);
    expect_error(negated(condition, two), Reason::kConditionUndecided);
    two.reports[1 - doubtful].result = "mismatch";
    expect_turned(negated(condition, two), Reason::kModelMismatch);
    two.reports[1 - doubtful].appraisal_current = false;
    expect_error(negated(condition, two), Reason::kConditionUndecided);
  }
}

// Two negations keep what is an error an error.
TEST(Negation, Twice_KeepsTheError) {
  Facts facts = facts_on_node();
  TrustedKey& key = facts.manifests.front().statement.signers.front().key;
  key = revoked(std::move(key), now());
  NotCondition inner;
  inner.of = {condition("part", ManifestCondition{})};
  NotCondition outer;
  outer.of = {condition("inner", std::move(inner))};
  EXPECT_EQ(judge_on_node(std::move(outer), facts).outcome, Outcome::kError);
}

}  // namespace
}  // namespace assay::policy::test
