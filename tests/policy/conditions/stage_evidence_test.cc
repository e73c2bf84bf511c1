// SPDX-License-Identifier: Apache-2.0
// Demands on stage evidence: one valid piece, and one thing wrong with it in each case.
#include "policy/conditions/stage_evidence.h"

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "policy/lint.h"
#include "schemas/core/sha.h"
#include "tests/policy/fixture.h"

namespace assay::policy::test {
namespace {

const char* const kMeasurements[] = {"mrtd", "rtmr0", "rtmr1", "rtmr2"};

TrustedKey trainer() { return signer("trainer-1", "trainer", "train"); }

StageEvidenceFact piece() {
  StageEvidenceFact fact{trainer().id, "tdx", from_now(-1800)};
  fact.made_after = from_now(-2400);
  fact.anchor = Anchor::root(sha256(as_bytes("vendor's root")));
  fact.anchor_is_vendor = true;
  fact.status_then = "UpToDate";
  fact.status_now = "SWHardeningNeeded";
  fact.current = true;
  fact.has_reference_values = true;
  for (const char* name : kMeasurements) {
    fact.measurements[name] = std::string(96, 'a');
  }
  fact.appraisal = DocumentId(sha256(as_bytes("appraisal")));
  fact.appraisal_policy = DocumentId(sha256(as_bytes("appraisal policy")));
  return fact;
}

EvidenceDemands strict() {
  EvidenceDemands demands;
  demands.type = "tdx";
  demands.tcb_status_then = {"UpToDate"};
  demands.tcb_status_now = {"UpToDate", "SWHardeningNeeded"};
  for (const char* name : kMeasurements) {
    demands.reference_values[name] = {std::string(96, 'a'), std::string(96, 'b')};
  }
  demands.max_age_seconds = 1800;
  demands.made_within_seconds = 600;
  return demands;
}

StatementCondition trained(EvidenceDemands demands = strict()) {
  StatementCondition condition = stage_condition("train");
  condition.evidence = std::move(demands);
  return condition;
}

Facts facts_with(std::vector<StageEvidenceFact> evidence) {
  Facts facts = valid_facts();
  for (StatementFact& statement : facts.statements.change()) {
    if (statement.stage == "train") {
      statement.evidence = evidence;
    }
  }
  return facts;
}

ConditionResult judge_with(const std::function<void(StageEvidenceFact&)>& change,
                           const EvidenceDemands& demands = strict()) {
  StageEvidenceFact fact = piece();
  change(fact);
  return judge_alone(trained(demands), facts_with({std::move(fact)}));
}

void expect(const ConditionResult& result, Outcome outcome, std::optional<Reason> code) {
  EXPECT_EQ(result.outcome, outcome) << result.actual.dump();
  EXPECT_EQ(result.code, code) << result.actual.dump();
}

const auto kUnchanged = [](StageEvidenceFact&) {};

TEST(StageEvidence, AsDemanded_Passes) {
  expect(judge_with(kUnchanged), Outcome::kPass, std::nullopt);
  expect(judge_alone(trained(EvidenceDemands{}), facts_with({piece()})), Outcome::kPass,
         std::nullopt);
}

TEST(StageEvidence, Without_TheStageFailsWithItsOwnCode) {
  expect(judge_alone(trained(), facts_with({})), Outcome::kFail, Reason::kStageEvidenceMissing);
  expect(judge_alone(stage_condition("train"), facts_with({})), Outcome::kPass, std::nullopt);
}

struct Case {
  std::string what;
  std::function<void(StageEvidenceFact&)> change;
  Outcome outcome;
  Reason code;
};

std::vector<Case> cases() {
  const auto fail = Outcome::kFail;
  return {
      {"another type", [](auto& e) { e.type = "sev"; }, fail, Reason::kStageEvidenceMissing},
      {"refused then", [](auto& e) { e.error_then = "X"; }, fail, Reason::kStageEvidenceRejected},
      {"refused now", [](auto& e) { e.error_now = "X"; }, fail, Reason::kStageEvidenceRejected},
      {"not current", [](auto& e) { e.current = false; }, fail, Reason::kStageEvidenceStale},
      {"what it rests on ends now", [](auto& e) { e.valid_until = now(); }, fail,
       Reason::kStageEvidenceStale},
      {"status then", [](auto& e) { e.status_then = "OutOfDate"; }, fail,
       Reason::kStageTcbNotAccepted},
      {"status now", [](auto& e) { e.status_now = "OutOfDate"; }, fail,
       Reason::kStageTcbNotAccepted},
      {"strange anchor", [](auto& e) { e.anchor_is_vendor = false; }, fail,
       Reason::kStageAnchorNotAccepted},
      {"no anchor", [](auto& e) { e.anchor.reset(); }, fail, Reason::kStageAnchorNotAccepted},
      {"another image", [](auto& e) { e.measurements["rtmr1"] = std::string(96, 'c'); }, fail,
       Reason::kStageMeasurementsMismatch},
      {"not measured", [](auto& e) { e.measurements.erase("mrtd"); }, fail,
       Reason::kStageMeasurementsMismatch},
      {"too old by a millisecond", [](auto& e) { e.accepted_at -= std::chrono::milliseconds(1); },
       fail, Reason::kStageEvidenceStale},
      {"no checkpoint", [](auto& e) { e.made_after.reset(); }, fail,
       Reason::kStageEvidenceNotFresh},
      {"an old checkpoint", [](auto& e) { e.made_after = from_now(-2401); }, fail,
       Reason::kStageEvidenceNotFresh},
      {"of a later time", [](auto& e) { e.accepted_at = from_now(1); }, Outcome::kError,
       Reason::kConditionUndecided},
      {"another key's", [](auto& e) { e.key = signer("eve-1", "eve").id; }, fail,
       Reason::kStageEvidenceMissing}};
}

TEST(StageEvidence, OneChange_IsRefusedWithItsCode) {
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.what);
    EvidenceDemands demands = strict();
    if (one.outcome == Outcome::kError) {
      demands.made_within_seconds.reset();
    }
    expect(judge_with(one.change, demands), one.outcome, one.code);
  }
}

TEST(StageEvidence, VerdictEndsWithWhatTheEvidenceRestsOn) {
  StageEvidenceFact fact = piece();
  fact.valid_until = from_now(60);
  const PolicyDocument policy =
      policy_with({manifest_condition(), condition("trained", trained(EvidenceDemands{}))});
  const Verdict verdict = decide(policy, facts_with({fact}));
  EXPECT_TRUE(verdict.allowed);
  EXPECT_EQ(verdict.valid_until, from_now(60));
  expect(judge_with([](auto& e) { e.valid_until = now() + std::chrono::milliseconds(1); }),
         Outcome::kPass, std::nullopt);
}

TEST(StageEvidence, EachAppraisal_CountsOnlyWhereAsked) {
  EvidenceDemands then = strict();
  then.appraised = AppraisedWhen::kThen;
  const auto fallen = [](StageEvidenceFact& e) {
    e.current = false;
    e.valid_until = from_now(-1);
    e.error_now = "TCB_STATUS_NOT_ACCEPTED:Revoked";
    e.status_now = "Revoked";
  };
  expect(judge_with(fallen, then), Outcome::kPass, std::nullopt);
  expect(judge_with([](auto& e) { e.error_then = "X"; }, then), Outcome::kFail,
         Reason::kStageEvidenceRejected);
  EvidenceDemands now_only = strict();
  now_only.appraised = AppraisedWhen::kNow;
  expect(judge_with(fallen, now_only), Outcome::kFail, Reason::kStageEvidenceStale);
  const auto mended = [](StageEvidenceFact& e) {
    e.error_then = "X";
    e.status_then = "OutOfDate";
  };
  expect(judge_with(mended, now_only), Outcome::kPass, std::nullopt);
}

TEST(StageEvidence, StrangeAnchor_CountsWhenNamed) {
  EvidenceDemands demands = strict();
  demands.anchors = {sha256(as_bytes("simulator")).text()};
  const auto simulated = [](StageEvidenceFact& e) {
    e.anchor_is_vendor = false;
    e.anchor = Anchor::root(sha256(as_bytes("simulator")));
  };
  expect(judge_with(simulated, demands), Outcome::kPass, std::nullopt);
  expect(judge_with(simulated), Outcome::kFail, Reason::kStageAnchorNotAccepted);
}

TEST(StageEvidence, ReferenceValues_AreNeededSomewhere) {
  const auto unconstrained = [](StageEvidenceFact& e) { e.has_reference_values = false; };
  expect(judge_with(unconstrained), Outcome::kPass, std::nullopt);
  EvidenceDemands partly = strict();
  partly.reference_values.erase("rtmr2");
  expect(judge_with(unconstrained, partly), Outcome::kFail, Reason::kStageReferencesMissing);
  partly.allow_missing_reference_values = true;
  expect(judge_with(unconstrained, partly), Outcome::kPass, std::nullopt);
}

TEST(StageEvidence, SignerThatDoesNotCount_HasNoEvidence) {
  Facts facts = facts_with({piece()});
  StatementFact& statement = facts.statements.change().front();
  statement.signers.push_back({signer("helper-1", "helper", "train"), from_now(-3600)});
  statement.signers.front().key = revoked(trainer(), now());
  expect(judge_alone(trained(), facts), Outcome::kFail, Reason::kStageEvidenceMissing);
  StatementCondition listed = trained();
  listed.signers.identities = {"helper"};
  expect(judge_alone(listed, facts), Outcome::kFail, Reason::kStageEvidenceMissing);
}

TEST(StageEvidence, OneGoodPieceIsEnough_InAnyOrder) {
  StageEvidenceFact bad = piece();
  bad.type = "other";
  bad.error_now = "X";
  for (const auto& order : {std::vector{bad, piece()}, std::vector{piece(), bad}}) {
    expect(judge_alone(trained(), facts_with(order)), Outcome::kPass, std::nullopt);
  }
}

// What a machine that is not accepted says shows nothing, and its contrary neither.
TEST(StageEvidence, BelowNot_FailedEvidenceIsAnError) {
  StatementCondition condition = trained();
  condition.where = {{"/stage", Comparison::kEqual, "something else"}};
  NotCondition negation;
  negation.of = {{"inner", condition}};
  expect(judge_alone(negation, facts_with({piece()})), Outcome::kPass, std::nullopt);
  StageEvidenceFact refused = piece();
  refused.error_now = "X";
  EXPECT_EQ(judge_alone(negation, facts_with({refused})).outcome, Outcome::kError);
  EXPECT_EQ(judge_alone(negation, facts_with({})).outcome, Outcome::kError);
  condition.where.clear();
  negation.of = {{"inner", condition}};
  EXPECT_EQ(judge_alone(negation, facts_with({refused})).outcome, Outcome::kError);
}

TEST(StageEvidence, Facts_RoundTrip_WhateverTheOrder) {
  StageEvidenceFact other = piece();
  other.key = signer("helper-1", "helper", "train").id;
  other.error_then = "A";
  other.error_now = "B";
  other.anchor.reset();
  other.made_after.reset();
  other.valid_until = from_now(60);
  other.measurements.clear();
  other.appraisal.reset();
  other.appraisal_policy.reset();
  const Json document = to_json(facts_with({piece(), other}));
  EXPECT_EQ(to_json(facts_with({other, piece()})), document);
  const auto read = facts_from_json(document);
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(to_json(*read), document);
  EXPECT_FALSE(to_json(facts_with({})).dump().contains("evidence"));
}

TEST(StageEvidence, Facts_RefuseWhatTheyDoNotKnow) {
  const Json good = to_json(facts_with({piece()}));
  const auto refused = [&](const std::function<void(Json&)>& change) {
    Json bad = good;
    change(bad["statements"][0]["evidence"][0]);
    return !facts_from_json(bad).has_value();
  };
  EXPECT_TRUE(refused([](Json& e) { e["verdict"] = "good"; }));
  EXPECT_TRUE(refused([](Json& e) { e.erase("current"); }));
  EXPECT_TRUE(refused([](Json& e) { e["now"] = "UpToDate"; }));
  EXPECT_TRUE(refused([](Json& e) { e["measurements"]["mrtd"] = 1; }));
  EXPECT_TRUE(refused([](Json& e) { e["key"] = "k"; }));
}

TEST(StageEvidence, Lint_WarnsOfDemandsThatWeaken) {
  const auto warnings = [](const std::function<void(EvidenceDemands&)>& change) {
    EvidenceDemands demands = strict();
    change(demands);
    return lint_evidence(demands).size();
  };
  EXPECT_EQ(warnings([](auto&) {}), 0U);
  EXPECT_EQ(warnings([](auto& d) { d.allow_missing_reference_values = true; }), 1U);
  EXPECT_EQ(warnings([](auto& d) { d.anchors = {"sha256:00"}; }), 1U);
  EXPECT_EQ(warnings([](auto& d) { d.appraised = AppraisedWhen::kThen; }), 2U);
  EXPECT_EQ(warnings([](auto& d) { d.appraised = AppraisedWhen::kNow; }), 1U);
}

}  // namespace
}  // namespace assay::policy::test
