// SPDX-License-Identifier: Apache-2.0
// Edge rules that ask for stage evidence: each step of the kind needs its own.
#include <functional>

#include <gtest/gtest.h>

#include "policy/lineage_condition.h"
#include "policy/lint.h"
#include "schemas/core/json_values.h"
#include "tests/policy/lineage/lineage_fixture.h"

namespace assay::policy::test {
namespace {

StageEvidenceFact piece(const TrustedKey& key) {
  StageEvidenceFact fact{key.id, "tdx", from_now(-600)};
  fact.made_after = from_now(-700);
  fact.anchor = Anchor::root(sha256(as_bytes("vendor's root")));
  fact.anchor_is_vendor = true;
  fact.status_then = "UpToDate";
  fact.status_now = "UpToDate";
  fact.current = true;
  fact.has_reference_values = true;
  return fact;
}

// corpus (collected) -> base (trained) -> the model (trained again); both trainings have evidence.
Made attested() {
  Made made = {
      about(1, "collect", digest_of("corpus"), "acme/corpus", {}, {maker("curator", "collect")}),
      about(2, "train", digest_of("base"), "acme/base", {input("dataset", "corpus", "acme/corpus")},
            {maker("trainer", "train")}),
      about(3, "train", artifact().text(), "acme/demo", {input("base-model", "base", "acme/base")},
            {maker("trainer", "train")})};
  made[1].fact.evidence = {piece(maker("trainer", "train"))};
  made[2].fact.evidence = made[1].fact.evidence;
  return made;
}

LineageCondition trained(EvidenceDemands demands = {}) {
  LineageCondition condition;
  condition.edges = {{"train", "", 1, {}, std::move(demands)}};
  return condition;
}

Judgement with(const std::function<void(StageEvidenceFact&)>& change,
               const EvidenceDemands& demands = {}) {
  Made made = attested();
  change(made[1].fact.evidence[0]);  // of the ancestor, not of the model
  return brief(judge_lineage(trained(demands), made));
}

TEST(LineageEvidence, OfEveryStep_Passes) {
  EXPECT_EQ(brief(judge_lineage(trained(), attested())), kPassed);
  EvidenceDemands strict;
  strict.type = "tdx";
  strict.tcb_status_then = {"UpToDate"};
  strict.max_age_seconds = 600;
  strict.made_within_seconds = 100;
  EXPECT_EQ(brief(judge_lineage(trained(strict), attested())), kPassed);
}

TEST(LineageEvidence, MissingForOneStep_Fails_AndSaysWhich) {
  Made made = attested();
  made[1].fact.evidence.clear();
  const ConditionResult result = judge_lineage(trained(), made);
  EXPECT_EQ(brief(result), (Judgement{Outcome::kFail, Reason::kStageEvidenceMissing}));
  ASSERT_EQ(result.actual["unattested"].size(), 1U) << result.actual.dump();
  EXPECT_EQ(result.actual["unattested"][0]["statement"], made[1].fact.id.text());
  EXPECT_EQ(result.actual["unattested"][0]["code"], "stage-evidence-missing");
  EXPECT_EQ(result.actual["unattested"][0]["name"], "acme/base");
  LineageCondition other = trained();
  other.edges[0].stage = "collect";
  EXPECT_EQ(judge_lineage(other, attested()).code, Reason::kStageEvidenceMissing);
  other.edges[0].stage = "merge";
  EXPECT_EQ(brief(judge_lineage(other, made)), kPassed) << "the rule is about no step";
}

TEST(LineageEvidence, WrongForAnAncestor_FailsWithItsCode) {
  const auto failed = [](Reason code) { return Judgement{Outcome::kFail, code}; };
  EXPECT_EQ(with([](auto& e) { e.error_now = "X"; }), failed(Reason::kStageEvidenceRejected));
  EXPECT_EQ(with([](auto& e) { e.current = false; }), failed(Reason::kStageEvidenceStale));
  EXPECT_EQ(with([](auto& e) { e.anchor_is_vendor = false; }),
            failed(Reason::kStageAnchorNotAccepted));
  EXPECT_EQ(with([](auto& e) { e.has_reference_values = false; }),
            failed(Reason::kStageReferencesMissing));
  EvidenceDemands demands;
  demands.tcb_status_now = {"UpToDate"};
  EXPECT_EQ(with([](auto& e) { e.status_now = "OutOfDate"; }, demands),
            failed(Reason::kStageTcbNotAccepted));
  demands = {};
  demands.reference_values["mrtd"] = {"aa"};
  EXPECT_EQ(with([](auto& e) { e.measurements["mrtd"] = "bb"; }, demands),
            failed(Reason::kStageMeasurementsMismatch));
  demands = {};
  demands.made_within_seconds = 99;
  EXPECT_EQ(with([](auto&) {}, demands), failed(Reason::kStageEvidenceNotFresh));
  EXPECT_EQ(with([](auto& e) { e.accepted_at = from_now(1); }),
            (Judgement{Outcome::kError, Reason::kConditionUndecided}));
}

// Evidence of a key whose signature does not count, or of somebody who is not asked for, is none.
TEST(LineageEvidence, OfSomebodyElse_IsNone) {
  Made made = attested();
  made[1].fact.evidence[0].key = maker("stranger", "train").id;
  EXPECT_EQ(judge_lineage(trained(), made).code, Reason::kStageEvidenceMissing);
  made = attested();
  const TrustedKey helper = maker("helper", "train");
  made[1].fact.signers.push_back({helper, made[1].fact.signers[0].signed_at});
  made[1].fact.evidence = {piece(helper)};
  EXPECT_EQ(brief(judge_lineage(trained(), made)), kPassed);
  LineageCondition condition = trained();
  condition.edges[0].identities = {"trainer"};
  EXPECT_EQ(judge_lineage(condition, made).code, Reason::kStageEvidenceMissing);
  made[1].fact.signers.back().key = revoked(helper, now());
  EXPECT_EQ(judge_lineage(trained(), made).code, Reason::kStageEvidenceMissing);
}

// A second statement on the same step cannot stand in for one that has no evidence.
TEST(LineageEvidence, EachStatementNeedsItsOwn) {
  Made made = attested();
  made.push_back(about(4, "train", digest_of("base"), "acme/base",
                       {input("dataset", "corpus", "acme/corpus")}, {maker("trainer", "train")}));
  EXPECT_EQ(judge_lineage(trained(), made).code, Reason::kStageEvidenceMissing);
  made.back().fact.withdrawn = WithdrawnFact{"wrong", from_now(-1), {}};
  EXPECT_EQ(brief(judge_lineage(trained(), made)), kPassed);
}

TEST(LineageEvidence, BelowNot_MissingProvesNothing) {
  Made made = attested();
  made[1].fact.evidence.clear();
  EXPECT_EQ(judge_not(trained(), facts_with(made)).outcome, Outcome::kError);
  LineageCondition denying = trained();
  denying.deny.names = {"acme/corpus"};
  EXPECT_EQ(judge_not(denying, facts_with(made)).outcome, Outcome::kError)
      << "what is denied was found, but a step is not attested";
  EXPECT_EQ(judge_not(denying, facts_with(attested())).outcome, Outcome::kPass);
}

TEST(LineageEvidence, Verdict_EndsWithTheAgeOfTheOldest) {
  EvidenceDemands demands;
  demands.max_age_seconds = 3600;
  Made made = attested();
  made[1].fact.evidence[0].accepted_at = from_now(-1200);
  const std::vector<ActivePolicy> policies = {
      active(policy_with({condition("lineage", trained(demands))}))};
  const std::vector<Facts> models = one(facts_with(made));
  const Verdict verdict = evaluate(policies, workload(), models, {}, DecisionPoint::kCreate, now());
  ASSERT_TRUE(verdict.valid_until);
  EXPECT_EQ(*verdict.valid_until, from_now(2400) + std::chrono::milliseconds(1));
}

TEST(LineageEvidence, Verdict_EndsWithWhatTheEvidenceOfAStepRestsOn) {
  Made made = attested();
  made[1].fact.evidence[0].valid_until = from_now(60);
  const std::vector<ActivePolicy> policies = {
      active(policy_with({condition("lineage", trained())}))};
  const std::vector<Facts> models = one(facts_with(made));
  const Verdict verdict = evaluate(policies, workload(), models, {}, DecisionPoint::kCreate, now());
  EXPECT_EQ(verdict.valid_until, from_now(60));
  EXPECT_EQ(with([](StageEvidenceFact& e) { e.valid_until = from_now(60); }), kPassed);
  EXPECT_EQ(with([](StageEvidenceFact& e) { e.valid_until = now(); }).code,
            Reason::kStageEvidenceStale);
}

TEST(LineageEvidence, Lint_WarnsOfWhatAnybodyCanHave) {
  const auto warnings = [](const EvidenceDemands& demands) {
    return lint_lineage(trained(demands), false);
  };
  EXPECT_TRUE(warnings({}).empty());
  EvidenceDemands weak;
  weak.allow_missing_reference_values = true;
  ASSERT_EQ(warnings(weak).size(), 1U);
  EXPECT_TRUE(
      warnings(weak)[0].text.starts_with("an edge rule accepts evidence without reference"));
}

TEST(LineageEvidence, Document_KeepsDemandsAndEvidence) {
  EvidenceDemands demands;
  demands.type = "tdx";
  demands.anchors = {digest_of("root")};
  demands.max_age_seconds = 60;
  const Json json = to_json(trained(demands));
  const auto again = json::get<LineageCondition>(json);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->edges[0].evidence, demands);
  EXPECT_FALSE(json::get<LineageCondition>(to_json(LineageCondition()))->edges.size());
  const auto lineage = lineage_from_json(to_json(*lineage_of(attested())));
  ASSERT_TRUE(lineage);
  EXPECT_EQ((*lineage)->statements()[1]->fact.evidence, attested()[1].fact.evidence);
}

}  // namespace
}  // namespace assay::policy::test
