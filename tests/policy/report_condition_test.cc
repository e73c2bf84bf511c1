// SPDX-License-Identifier: Apache-2.0
// Conditions about verification reports: one that holds, and one change each that must stop it.
#include <functional>

#include <gtest/gtest.h>

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

void expect(const ConditionResult& result, Outcome outcome, std::optional<ErrorCode> code) {
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
                                 {"reported_at", to_rfc3339(from_now(-900))},
                                 {"age_seconds", 900},
                                 {"worker_measured", true},
                                 {"device_attested", false},
                                 {"spot_checks", 16}}));
  expect(judge_on_node(ReportCondition{}, facts_on_node()), Outcome::kPass, std::nullopt);
}

struct Case {
  const char* what;
  Change change;
  Outcome outcome;
  ErrorCode code;
};

std::vector<Case> cases() {
  const auto fail = Outcome::kFail;
  const auto error = Outcome::kError;
  return {
      {"none", [](Facts& f) { f.reports.clear(); }, fail, ErrorCode::kReportMissing},
      {"other scope", [](Facts& f) { f.reports[0].scope = "device-memory"; }, fail,
       ErrorCode::kReportMissing},
      {"mismatch", [](Facts& f) { f.reports[0].result = "mismatch"; }, fail,
       ErrorCode::kModelMismatch},
      {"incomplete", [](Facts& f) { f.reports[0].result = "incomplete"; }, fail,
       ErrorCode::kReportMissing},
      {"failed", [](Facts& f) { f.reports[0].result = "failed"; }, fail, ErrorCode::kReportMissing},
      {"no result", [](Facts& f) { f.reports[0].result.clear(); }, fail, ErrorCode::kReportMissing},
      {"stale by a millisecond",
       [](Facts& f) { f.reports[0].reported_at = from_now(-3600) - std::chrono::milliseconds(1); },
       fail, ErrorCode::kReportStale},
      {"from the future", [](Facts& f) { f.reports[0].reported_at = from_now(1); }, error,
       ErrorCode::kConditionUndecided},
      {"worker not measured", [](Facts& f) { f.reports[0].worker_measured = false; }, fail,
       ErrorCode::kWorkerNotMeasured},
      {"spot checks", [](Facts& f) { f.reports[0].spot_checks = 15; }, fail,
       ErrorCode::kSpotCheckMissing},
      {"revoked", [](Facts& f) { f.node->revoked = Revocation{now(), "x"}; }, fail,
       ErrorCode::kNodeRevoked},
      {"not enrolled", [](Facts& f) { f.node.reset(); }, fail, ErrorCode::kNodeNotEnrolled},
      {"another node", [](Facts& f) { f.node->name = "gpu-2"; }, error,
       ErrorCode::kConditionUndecided}};
}

TEST(ReportCondition, OneChange_IsRefusedWithItsCode) {
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.what);
    expect(judge_on_node(strict(), with(one.change)), one.outcome, one.code);
  }
}

TEST(ReportCondition, WithoutANode_Fails) {
  expect(judge_on_node(strict(), facts_on_node(), workload()), Outcome::kFail,
         ErrorCode::kNodeUnknown);
}

TEST(ReportCondition, AgeIsCountedToTheMillisecond) {
  expect(judge_on_node(strict(),
                       with([](Facts& facts) { facts.reports[0].reported_at = from_now(-3600); })),
         Outcome::kPass, std::nullopt);
}

TEST(ReportCondition, DeviceAttested_IsAskedFor) {
  ReportCondition condition = strict();
  condition.device_attested = true;
  expect(judge_on_node(condition, facts_on_node()), Outcome::kFail, ErrorCode::kDeviceNotAttested);
  expect(
      judge_on_node(condition, with([](Facts& facts) { facts.reports[0].device_attested = true; })),
      Outcome::kPass, std::nullopt);
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
  newer.reported_at = from_now(-600);
  for (const bool first : {true, false}) {
    const ConditionResult result = judge_on_node(
        strict(), with([&](Facts& facts) {
          facts.reports.insert(first ? facts.reports.begin() : facts.reports.end(), newer);
        }));
    expect(result, Outcome::kFail, ErrorCode::kModelMismatch);
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
    const Outcome outcome =
        one.code == ErrorCode::kModelMismatch ? Outcome::kPass : Outcome::kError;
    EXPECT_EQ(judge_on_node(std::move(negation), with(one.change)).outcome, outcome);
  }
}

TEST(ReportCondition, Scope_SaysThePoint) {
  ReportCondition memory = strict();
  memory.scope = "device-memory";
  EXPECT_EQ(point_of(condition("files", strict())), DecisionPoint::kBind);
  EXPECT_EQ(point_of(condition("memory", memory)), DecisionPoint::kServe);
  expect(judge_on_node(memory, facts_on_node()), Outcome::kDeferred, ErrorCode::kConditionDeferred);
  const std::vector policies = {active(policy_with({condition("memory", memory)}))};
  EXPECT_EQ(decide_on_node(policies, facts_on_node()).reasons,
            std::vector{ErrorCode::kReportMissing});
  const Facts facts = with([](Facts& all) { all.reports[0].scope = "device-memory"; });
  EXPECT_TRUE(decide_on_node(policies, facts).allowed);
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
