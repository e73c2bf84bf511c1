// SPDX-License-Identifier: Apache-2.0
// Conditions about verification reports: one that holds, and one change each that must stop it.
#include <functional>

#include <gtest/gtest.h>

#include "policy/conditions.h"
#include "tests/policy/fixture.h"

namespace assay::policy::test {
namespace {

using Change = std::function<void(Facts& facts)>;

Facts with(const Change& change) {
  Facts facts = facts_on_node();
  change(facts);
  return facts;
}

ReportCondition strict() {
  ReportCondition condition;
  condition.max_age_seconds = 3600;
  condition.min_spot_checks = 16;
  return condition;
}

void expect(const ConditionResult& result, Outcome outcome, std::optional<Reason> code) {
  EXPECT_EQ(result.outcome, outcome) << to_json(result).dump();
  EXPECT_EQ(result.code, code) << to_json(result).dump();
}

TEST(ReportCondition, FreshReportOfTheNode_Passes) {
  const ConditionResult result = judge_on_node(strict(), facts_on_node());
  expect(result, Outcome::kPass, std::nullopt);
  EXPECT_EQ(result.evidence, std::vector{report_fact().report->text()});
  EXPECT_EQ(result.expected, (Json{{"result", "verified"},
                                   {"scope", "files"},
                                   {"worker_measured", true},
                                   {"device_attested", false},
                                   {"max_age_seconds", 3600},
                                   {"min_spot_checks", 16}}));
  EXPECT_EQ(result.actual, (Json{{"node", "gpu-1"},
                                 {"job", "job-1"},
                                 {"result", "verified"},
                                 {"location", "pvc://inference/models"},
                                 {"volume", "pv-1"},
                                 {"reported_at", to_rfc3339(from_now(-600))},
                                 {"read_since", to_rfc3339(from_now(-900))},
                                 {"age_seconds", 900},
                                 {"worker_measured", true},
                                 {"appraisal_current", true},
                                 {"device_attested", false},
                                 {"spot_checks", 16}}));
  expect(judge_on_node(ReportCondition{}, facts_on_node()), Outcome::kPass, std::nullopt);
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
      {"none", [](Facts& f) { f.reports.clear(); }, fail, Reason::kReportMissing},
      {"other scope", [](Facts& f) { f.reports[0].scope = "device-memory"; }, fail,
       Reason::kReportMissing},
      {"mismatch", [](Facts& f) { f.reports[0].result = "mismatch"; }, fail,
       Reason::kModelMismatch},
      {"incomplete", [](Facts& f) { f.reports[0].result = "incomplete"; }, fail,
       Reason::kReportMissing},
      {"failed", [](Facts& f) { f.reports[0].result = "failed"; }, fail, Reason::kReportMissing},
      {"no result", [](Facts& f) { f.reports[0].result.clear(); }, fail, Reason::kReportMissing},
      {"stale by a millisecond",
       [](Facts& f) { f.reports[0].read_since = from_now(-3600) - std::chrono::milliseconds(1); },
       fail, Reason::kReportStale},
      {"from the future", [](Facts& f) { f.reports[0].reported_at = from_now(1); }, error,
       Reason::kConditionUndecided},
      {"read in the future", [](Facts& f) { f.reports[0].read_since = from_now(1); }, error,
       Reason::kConditionUndecided},
      {"worker not measured", [](Facts& f) { f.reports[0].worker_measured = false; }, fail,
       Reason::kWorkerNotMeasured},
      {"appraised under what is no longer in force",
       [](Facts& f) { f.reports[0].appraisal_current = false; }, fail, Reason::kEvidenceStale},
      {"what its evidence rests on ends now",
       [](Facts& f) { f.reports[0].evidence_valid_until = now(); }, fail, Reason::kEvidenceStale},
      {"spot checks", [](Facts& f) { f.reports[0].spot_checks = 15; }, fail,
       Reason::kSpotCheckMissing},
      {"revoked", [](Facts& f) { f.node->revoked = Revocation{now(), "x"}; }, fail,
       Reason::kNodeRevoked},
      {"not enrolled", [](Facts& f) { f.node.reset(); }, fail, Reason::kNodeNotEnrolled},
      {"another node", [](Facts& f) { f.node->name = "gpu-2"; }, error,
       Reason::kConditionUndecided}};
}

TEST(ReportCondition, OneChange_IsRefusedWithItsCode) {
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.what);
    expect(judge_on_node(strict(), with(one.change)), one.outcome, one.code);
  }
}

TEST(ReportCondition, WithoutANode_Fails) {
  expect(judge_on_node(strict(), facts_on_node(), workload()), Outcome::kFail,
         Reason::kNodeUnknown);
}

TEST(ReportCondition, AgeIsCountedToTheMillisecond) {
  expect(judge_on_node(strict(),
                       with([](Facts& facts) { facts.reports[0].read_since = from_now(-3600); })),
         Outcome::kPass, std::nullopt);
}

// --- places

// A pod that mounts these; with the claim behind inference/models.
ConditionResult judge_pod(const ReportCondition& report, Facts facts,
                          std::vector<std::string> bound, std::vector<std::string> filled = {}) {
  facts.claims.push_back({"pvc://inference/models", "claim-1", "pv-1"});
  const JudgedFacts judged = judge_signers(facts, now());
  const std::string node = "gpu-1";
  const Scope scope{
      judged,           facts, node, kPoints, DecisionPoint::kServe, now(), std::move(bound), true,
      std::move(filled)};
  return judge(report, scope);
}

TEST(ReportCondition, AgeCountsFromTheNonceNotFromTheEnd) {
  // Six hours of hashing, reported a moment ago.
  const Facts facts = with([](Facts& all) {
    all.reports[0].reported_at = from_now(-1);
    all.reports[0].read_since = from_now(-6 * 3600);
  });
  expect(judge_on_node(strict(), facts), Outcome::kFail, Reason::kReportStale);
}

TEST(ReportCondition, OfAPod_CountsWhatItMounts) {
  const std::string mounted = "pvc://inference/models";
  expect(judge_pod(strict(), facts_on_node(), {mounted}), Outcome::kPass, std::nullopt);
  // The job hashed another directory than the pod mounts.
  const ConditionResult other = judge_pod(strict(), facts_on_node(), {"pvc://inference/evil"});
  expect(other, Outcome::kFail, Reason::kReportMissing);
  EXPECT_EQ(other.actual[std::string(kToVerify)], Json::array({"pvc://inference/evil"}));
  expect(judge_pod(strict(), facts_on_node(), {mounted + "/sub"}), Outcome::kFail,
         Reason::kReportMissing);
  expect(judge_pod(strict(), facts_on_node(), {}), Outcome::kFail, Reason::kReportMissing);
}

TEST(ReportCondition, OfAPod_EveryMountNeedsOneAndTheWorstDecides) {
  const std::vector<std::string> both = {"hostpath:///data", "pvc://inference/models"};
  expect(judge_pod(strict(), facts_on_node(), both), Outcome::kFail, Reason::kReportMissing);
  const auto second = [](const std::string& result) {
    return with([&](Facts& all) {
      all.reports.push_back(report_fact());
      all.reports[1].job = "job-2";
      all.reports[1].location = "hostpath:///data";
      all.reports[1].volume.clear();
      all.reports[1].result = result;
    });
  };
  const ConditionResult good = judge_pod(strict(), second("verified"), both);
  expect(good, Outcome::kPass, std::nullopt);
  EXPECT_EQ(good.evidence.size(), 2U);
  expect(judge_pod(strict(), second("mismatch"), both), Outcome::kFail, Reason::kModelMismatch);
  // What the pod does not mount says nothing about it.
  expect(judge_pod(strict(), second("mismatch"), {"pvc://inference/models"}), Outcome::kPass,
         std::nullopt);
}

TEST(ReportCondition, OfAPod_AnotherVolumeBehindTheClaimIsAnother) {
  const std::string mounted = "pvc://inference/models/llm";
  const auto judged = [&](const std::string& volume, const std::string& result = "verified") {
    return judge_pod(strict(), with([&](Facts& all) {
                       all.reports[0].location = mounted;
                       all.reports[0].volume = volume;
                       all.reports[0].result = result;
                     }),
                     {mounted});
  };
  expect(judged("pv-1"), Outcome::kPass, std::nullopt);
  // Deleted and made again, or never known to the node.
  for (const char* volume : {"pv-2", ""}) {
    const ConditionResult result = judged(volume);
    expect(result, Outcome::kFail, Reason::kVolumeChanged);
    EXPECT_EQ(result.actual[std::string(kToVerify)], Json::array({mounted}));
    EXPECT_EQ(judged(volume, "mismatch").code, Reason::kVolumeChanged);
  }
  const auto unseen = [&](const std::string& location) {
    return judge_pod(strict(), with([&](Facts& all) { all.reports[0].location = location; }),
                     {location});
  };
  expect(unseen("pvc://inference/other"), Outcome::kFail, Reason::kClaimUnknown);
  expect(unseen("pvc://inference-2/models"), Outcome::kFail, Reason::kClaimUnknown);
  Facts waiting = facts_on_node();
  waiting.claims.push_back({"pvc://inference/models", "claim-2", ""});
  expect(judge_pod(strict(), waiting, {"pvc://inference/models"}), Outcome::kFail,
         Reason::kClaimUnknown);
}

TEST(ReportCondition, WithoutAPod_EveryReportOrThoseAskedForCount) {
  const auto facts = [](std::vector<std::string> asked) {
    return with([&](Facts& all) {
      all.reports.push_back(report_fact());
      all.reports[1].location = "hostpath:///data";
      all.reports[1].result = "mismatch";
      all.asked_locations = std::move(asked);
    });
  };
  expect(judge_on_node(strict(), facts({})), Outcome::kFail, Reason::kModelMismatch);
  expect(judge_on_node(strict(), facts({"pvc://inference/models"})), Outcome::kPass, std::nullopt);
  expect(judge_on_node(strict(), facts({"pvc://inference/models", "nfs://host/x"})), Outcome::kFail,
         Reason::kReportMissing);
}

TEST(ReportCondition, AtServe_OnlyReportsOnThatPodCount) {
  ReportCondition serve = strict();
  serve.at_serve = true;
  EXPECT_EQ(point_of(condition("serve", serve)), DecisionPoint::kServe);
  const std::string mounted = "pvc://inference/models";
  const auto judged = [&](const std::string& pod, const std::string& asked,
                          std::vector<std::string> bound, const std::string& location,
                          std::vector<std::string> filled = {}) {
    return judge_pod(serve, with([&](Facts& all) {
                       all.pod = asked;
                       all.reports[0].pod = pod;
                       all.reports[0].pod_volume = pod.empty() ? "" : "pv-1";
                       all.reports[0].location = location;
                     }),
                     std::move(bound), std::move(filled));
  };
  expect(judged("uid-1", "uid-1", {mounted}, mounted), Outcome::kPass, std::nullopt);
  for (const auto& [pod, asked] : std::vector<std::pair<std::string, std::string>>{
           {"uid-2", "uid-1"}, {"", "uid-1"}, {"uid-1", ""}, {"", ""}}) {
    expect(judged(pod, asked, {mounted}, mounted), Outcome::kFail, Reason::kReportMissing);
  }
  // Filled at run time: there is no location, and the volume of the pod was read.
  expect(judged("uid-1", "uid-1", {}, "", {"pv-1"}), Outcome::kPass, std::nullopt);
  expect(judged("uid-2", "uid-1", {}, "", {"pv-1"}), Outcome::kFail, Reason::kReportMissing);
  // Another of its volumes was read, or only one of two.
  expect(judged("uid-1", "uid-1", {}, ""), Outcome::kFail, Reason::kReportMissing);
  expect(judged("uid-1", "uid-1", {}, "", {"model"}), Outcome::kFail, Reason::kReportMissing);
  expect(judged("uid-1", "uid-1", {}, "", {"model", "pv-1"}), Outcome::kFail,
         Reason::kReportMissing);
  // A report on a pod's own mount is none on the node's directory.
  ReportCondition bind = strict();
  expect(judge_pod(bind, with([](Facts& all) {
                     all.pod = "uid-1";
                     all.reports[0].pod = "uid-1";
                   }),
                   {mounted}),
         Outcome::kFail, Reason::kReportMissing);
}

TEST(ReportCondition, DeviceAttested_IsAskedFor) {
  ReportCondition condition = strict();
  condition.device_attested = true;
  expect(judge_on_node(condition, facts_on_node()), Outcome::kFail, Reason::kDeviceNotAttested);
  expect(
      judge_on_node(condition, with([](Facts& facts) { facts.reports[0].device_attested = true; })),
      Outcome::kPass, std::nullopt);
}

TEST(ReportCondition, DeviceAttested_CountsUnderTheVendorsAnchorOrOneThatIsNamed) {
  const Facts facts = with([](Facts& all) {
    all.reports[0].device_attested = true;
    all.reports[0].device_anchors = {"sha256:aa", "sha256:bb"};
  });
  ReportCondition condition = strict();
  expect(judge_on_node(condition, facts), Outcome::kPass, std::nullopt);
  condition.device_attested = true;
  expect(judge_on_node(condition, facts), Outcome::kFail, Reason::kDeviceNotAttested);
  condition.anchors = {"sha256:bb"};
  expect(judge_on_node(condition, facts), Outcome::kFail, Reason::kDeviceNotAttested);
  condition.anchors = {"sha256:bb", "sha256:aa"};
  expect(judge_on_node(condition, facts), Outcome::kPass, std::nullopt);
}

TEST(ReportCondition, UnmeasuredWorker_CountsWhenThePolicySaysSo) {
  ReportCondition condition = strict();
  condition.worker_measured = false;
  expect(judge_on_node(condition,
                       with([](Facts& facts) { facts.reports[0].worker_measured = false; })),
         Outcome::kPass, std::nullopt);
}

// Facts have one report of a scope; should there be more, an old good one hides nothing.
TEST(ReportCondition, SeveralReports_TheNewestCounts) {
  ReportFact newer = report_fact();
  newer.job = "job-2";
  newer.result = "mismatch";
  newer.differing = "model.bin bytes 0-1048576";
  newer.reported_at = from_now(-500);
  for (const bool first : {true, false}) {
    const ConditionResult result = judge_on_node(
        strict(), with([&](Facts& facts) {
          facts.reports.insert(first ? facts.reports.begin() : facts.reports.end(), newer);
        }));
    expect(result, Outcome::kFail, Reason::kModelMismatch);
    EXPECT_EQ(result.actual["differing"], "model.bin bytes 0-1048576");
    EXPECT_EQ(result.actual["job"], "job-2");
  }
}

TEST(ReportCondition, ExpiredEnrolment_LeavesTheReport) {
  expect(judge_on_node(strict(), with([](Facts& facts) { facts.node->expires_at = now(); })),
         Outcome::kPass, std::nullopt);
}

TEST(ReportCondition, BelowNot_OnlyAKnownMismatchTurnsRound) {
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.what);
    NotCondition negation;
    negation.of = {condition("part", strict())};
    const Outcome outcome = one.code == Reason::kModelMismatch ? Outcome::kPass : Outcome::kError;
    EXPECT_EQ(judge_on_node(std::move(negation), with(one.change)).outcome, outcome);
  }
}

TEST(ReportCondition, Scope_SaysThePoint) {
  ReportCondition memory = strict();
  memory.scope = "device-memory";
  EXPECT_EQ(point_of(condition("files", strict())), DecisionPoint::kBind);
  EXPECT_EQ(point_of(condition("memory", memory)), DecisionPoint::kServe);
  expect(judge_on_node(memory, facts_on_node()), Outcome::kDeferred, Reason::kConditionDeferred);
  const std::vector policies = {active(policy_with({condition("memory", memory)}))};
  EXPECT_EQ(decide_on_node(policies, facts_on_node()).reasons, std::vector{Reason::kReportMissing});
  ReportCondition loaded = memory;
  loaded.min_spot_checks.reset();
  EXPECT_TRUE(
      decide_on_node({active(policy_with({condition("memory", loaded)}))}, facts_in_memory())
          .allowed);
}

// A combination belongs to the latest point of its parts, and is open until then.
TEST(ReportCondition, InACombination_DefersIt) {
  const AllCondition both{{manifest_condition(), condition("report", strict())}};
  const Condition all = condition("all", both);
  EXPECT_EQ(point_of(all), DecisionPoint::kBind);
  const Verdict verdict = decide(policy_with({all}), valid_facts());
  EXPECT_EQ(verdict.policies.front().conditions.front().outcome, Outcome::kDeferred);
}

}  // namespace
}  // namespace assay::policy::test
