// SPDX-License-Identifier: Apache-2.0
// Conditions about the node: one that holds, and one change each that must stop it.
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "schemas/core/sha.h"
#include "tests/policy/fixture.h"

namespace assay::policy::test {
namespace {

using Change = std::function<void(NodeFact& node)>;

Facts with(const Change& change) {
  Facts facts = facts_on_node();
  change(*facts.node);
  return facts;
}

NodeCondition strict() {
  NodeCondition condition;
  condition.max_evidence_age_seconds = 3600;
  condition.tcb_status = {"UpToDate", "SWHardeningNeeded"};
  return condition;
}

void expect(const ConditionResult& result, Outcome outcome, std::optional<Reason> code) {
  EXPECT_EQ(result.outcome, outcome) << to_json(result).dump();
  EXPECT_EQ(result.code, code) << to_json(result).dump();
}

ConditionResult negated(ConditionKind kind, const Facts& facts,
                        const Workload& workload = workload_on_node()) {
  NotCondition negation;
  negation.of = {condition("part", std::move(kind))};
  return judge_on_node(std::move(negation), facts, workload);
}

TEST(NodeCondition, MeasuredNodeUnderTheVendorsAnchor_Passes) {
  const ConditionResult result = judge_on_node(strict(), facts_on_node());
  expect(result, Outcome::kPass, std::nullopt);
  EXPECT_EQ(result.evidence, std::vector{node_fact().appraisal->text()});
  EXPECT_EQ(result.expected, (Json{{"worker_measured", true},
                                   {"anchors", Json::array()},
                                   {"max_evidence_age_seconds", 3600},
                                   {"tcb_status", {"UpToDate", "SWHardeningNeeded"}}}));
  EXPECT_EQ(result.actual["node"], "gpu-1");
  EXPECT_EQ(result.actual["evidence"]["age_seconds"], 1800);
  EXPECT_EQ(result.actual["evidence"]["anchor"], node_fact().anchor->text());
  EXPECT_FALSE(result.actual.contains("failed"));
  expect(judge_on_node(NodeCondition{}, facts_on_node()), Outcome::kPass, std::nullopt);
}

struct Case {
  const char* what;
  Change change;
  Outcome outcome;
  Reason code;
};

std::vector<Case> cases() {
  const auto fail = Outcome::kFail;
  const auto error = Outcome::kError;
  return {
      {"revoked", [](NodeFact& n) { n.revoked = Revocation{now(), "x"}; }, fail,
       Reason::kNodeRevoked},
      {"revoked by a clock ahead", [](NodeFact& n) { n.revoked = Revocation{from_now(60), "x"}; },
       fail, Reason::kNodeRevoked},
      {"over", [](NodeFact& n) { n.expires_at = now(); }, fail, Reason::kEnrolmentExpired},
      {"enrolled later", [](NodeFact& n) { n.enrolled_at = from_now(1); }, error,
       Reason::kConditionUndecided},
      {"not measured",
       [](NodeFact& n) {
         n.worker_measured = false;
         n.appraised_at.reset();
       },
       fail, Reason::kWorkerNotMeasured},
      {"evidence of another key", [](NodeFact& n) { n.worker_measured = false; }, fail,
       Reason::kWorkerNotMeasured},
      {"measured without evidence", [](NodeFact& n) { n.appraised_at.reset(); }, fail,
       Reason::kWorkerNotMeasured},
      {"stale by a millisecond",
       [](NodeFact& n) { n.appraised_at = from_now(-3600) - std::chrono::milliseconds(1); }, fail,
       Reason::kEvidenceStale},
      {"appraised under what is no longer in force",
       [](NodeFact& n) { n.appraisal_current = false; }, fail, Reason::kEvidenceStale},
      {"refused by now",
       [](NodeFact& n) {
         n.appraisal_error = "TD_MRTD_MISMATCH";
         n.worker_measured = false;
       },
       fail, Reason::kEvidenceRejected},
      {"appraised later", [](NodeFact& n) { n.appraised_at = from_now(1); }, error,
       Reason::kConditionUndecided},
      {"strange anchor", [](NodeFact& n) { n.anchor_is_vendor = false; }, fail,
       Reason::kAnchorNotAccepted},
      {"no anchor", [](NodeFact& n) { n.anchor.reset(); }, fail, Reason::kAnchorNotAccepted},
      {"old TCB", [](NodeFact& n) { n.tcb_status = "OutOfDate"; }, fail, Reason::kTcbNotAccepted},
      {"no TCB", [](NodeFact& n) { n.tcb_status.clear(); }, fail, Reason::kTcbNotAccepted},
      {"another node", [](NodeFact& n) { n.name = "gpu-2"; }, error, Reason::kConditionUndecided}};
}

TEST(NodeCondition, OneChange_IsRefusedWithItsCode) {
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.what);
    const ConditionResult result = judge_on_node(strict(), with(one.change));
    expect(result, one.outcome, one.code);
    EXPECT_EQ(result.actual.contains("failed"), one.outcome == Outcome::kFail);
  }
}

TEST(NodeCondition, SeveralThingsWrong_AreAllNamed) {
  const ConditionResult result = judge_on_node(strict(), with([](NodeFact& node) {
                                                 node.tcb_status = "OutOfDate";
                                                 node.anchor_is_vendor = false;
                                                 node.appraised_at = from_now(-7200);
                                               }));
  expect(result, Outcome::kFail, Reason::kEvidenceStale);
  EXPECT_EQ(result.actual["failed"],
            (Json{"evidence-stale", "anchor-not-accepted", "tcb-not-accepted"}));
}

TEST(NodeCondition, AgeIsCountedToTheMillisecond) {
  expect(judge_on_node(strict(), with([](NodeFact& node) { node.appraised_at = from_now(-3600); })),
         Outcome::kPass, std::nullopt);
  NodeCondition endless = strict();
  endless.max_evidence_age_seconds = std::numeric_limits<std::uint64_t>::max();
  expect(judge_on_node(endless, facts_on_node()), Outcome::kPass, std::nullopt);
}

TEST(NodeCondition, NamedAnchor_CountsBesideTheVendors) {
  NodeCondition named;
  named.anchors = {node_fact().anchor->text()};
  const auto simulated = with([](NodeFact& node) { node.anchor_is_vendor = false; });
  expect(judge_on_node(named, simulated), Outcome::kPass, std::nullopt);
  named.anchors = {sha256(as_bytes("another root")).text()};
  expect(judge_on_node(named, simulated), Outcome::kFail, Reason::kAnchorNotAccepted);
  expect(judge_on_node(named, facts_on_node()), Outcome::kPass, std::nullopt);
}

// A plug-in is named by its own form: neither the vendor's name nor a root of the same digest
// helps.
TEST(NodeCondition, Plugin_CountsOnlyWhenNamed) {
  const Digest file = sha256(as_bytes("a plug-in"));
  const auto verified_by_plugin = [&](bool vendor) {
    return with([&](NodeFact& node) {
      node.anchor = Anchor::plugin(file);
      node.anchor_is_vendor = vendor;
    });
  };
  NodeCondition named;
  for (const bool vendor : {false, true}) {
    named.anchors = {};
    expect(judge_on_node(named, verified_by_plugin(vendor)), Outcome::kFail,
           Reason::kAnchorNotAccepted);
    named.anchors = {Anchor::root(file).text()};
    expect(judge_on_node(named, verified_by_plugin(vendor)), Outcome::kFail,
           Reason::kAnchorNotAccepted);
    named.anchors = {Anchor::plugin(sha256(as_bytes("another"))).text()};
    expect(judge_on_node(named, verified_by_plugin(vendor)), Outcome::kFail,
           Reason::kAnchorNotAccepted);
    named.anchors = {Anchor::plugin(file).text()};
    expect(judge_on_node(named, verified_by_plugin(vendor)), Outcome::kPass, std::nullopt);
  }
  // Nor is a root of the same digest the plug-in.
  const auto root = with([&](NodeFact& node) {
    node.anchor = Anchor::root(file);
    node.anchor_is_vendor = false;
  });
  expect(judge_on_node(named, root), Outcome::kFail, Reason::kAnchorNotAccepted);
}

TEST(NodeCondition, NoNodeOrNotEnrolled_Fails) {
  expect(judge_on_node(strict(), facts_on_node(), workload()), Outcome::kFail,
         Reason::kNodeUnknown);
  Facts facts = facts_on_node();
  facts.node.reset();
  const ConditionResult result = judge_on_node(strict(), facts);
  expect(result, Outcome::kFail, Reason::kNodeNotEnrolled);
  EXPECT_EQ(result.actual, (Json{{"node", "gpu-1"}}));
}

TEST(NodeCondition, MeasurementNotAsked_TakesAnEnrolledNode) {
  NodeCondition enrolled;
  enrolled.worker_measured = false;
  const auto unmeasured = with([](NodeFact& node) {
    node.worker_measured = false;
    node.appraised_at.reset();
  });
  expect(judge_on_node(enrolled, unmeasured), Outcome::kPass, std::nullopt);
  // What is asked of evidence still needs evidence.
  enrolled.max_evidence_age_seconds = 3600;
  expect(judge_on_node(enrolled, unmeasured), Outcome::kFail, Reason::kWorkerNotMeasured);
  enrolled.max_evidence_age_seconds.reset();
  enrolled.tcb_status = {"UpToDate"};
  expect(judge_on_node(enrolled, unmeasured), Outcome::kFail, Reason::kWorkerNotMeasured);
  // Evidence that is there is looked at.
  enrolled.tcb_status.clear();
  expect(judge_on_node(enrolled, with([](NodeFact& node) { node.anchor_is_vendor = false; })),
         Outcome::kFail, Reason::kAnchorNotAccepted);
}

TEST(NodeCondition, BelowNot_OnlyAKnownStatusTurnsRound) {
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.what);
    const Outcome outcome = one.code == Reason::kTcbNotAccepted ? Outcome::kPass : Outcome::kError;
    EXPECT_EQ(negated(strict(), with(one.change)).outcome, outcome);
  }
  EXPECT_EQ(negated(strict(), facts_on_node()).outcome, Outcome::kFail);
  EXPECT_EQ(negated(strict(), facts_on_node(), workload()).outcome, Outcome::kError);
  EXPECT_EQ(negated(strict(), valid_facts()).outcome, Outcome::kError);
}

TEST(NodeCondition, AtCreate_IsDeferredVisibly) {
  const ActivePolicy policy =
      active(policy_with({manifest_condition(), condition("node", strict())}));
  const Verdict verdict = decide({policy}, valid_facts());
  EXPECT_TRUE(verdict.allowed);
  const ConditionResult& result = verdict.policies.front().conditions.at(1);
  expect(result, Outcome::kDeferred, Reason::kConditionDeferred);
  EXPECT_EQ(verdict.policies.front().outcome, Outcome::kDeferred);
  EXPECT_EQ(point_of(condition("node", strict())), DecisionPoint::kBind);
}

TEST(NodeCondition, AtBind_DecidesTheVerdict) {
  const std::vector policies = {
      active(policy_with({manifest_condition(), condition("node", strict())}))};
  const auto at_bind = [&](const Facts& facts) {
    return evaluate(policies, workload_on_node(), one(facts), {}, DecisionPoint::kBind, now());
  };
  EXPECT_TRUE(at_bind(facts_on_node()).allowed);
  const Verdict denied = at_bind(valid_facts());
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ(denied.reasons, std::vector{Reason::kNodeNotEnrolled});
}

}  // namespace
}  // namespace assay::policy::test
