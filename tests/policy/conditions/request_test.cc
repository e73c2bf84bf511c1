// SPDX-License-Identifier: Apache-2.0
// Conditions about who asked and when, and the time until which a verdict holds.
#include <gtest/gtest.h>

#include "policy/as_read.h"
#include "schemas/core/json_values.h"
#include "tests/policy/fixture.h"

namespace assay::policy::test {
namespace {

using Groups = std::vector<std::string>;

Workload asked_by(Requester requester) {
  Workload asked = workload();
  asked.requester = std::move(requester);
  return asked;
}

ConditionResult judge_asked(ConditionKind kind, const Requester& requester, Timestamp at = now()) {
  const std::vector policies = {
      active(policy_with({manifest_condition(), condition("asked", std::move(kind))}))};
  return evaluate(policies, asked_by(requester), one(valid_facts()), {}, DecisionPoint::kCreate, at)
      .policies.front()
      .conditions.at(1);
}

NotCondition negated(ConditionKind kind) {
  NotCondition negation;
  negation.of.push_back(condition("inner", std::move(kind)));
  return negation;
}

TEST(Request, EachListNeedsAMatch) {
  const RequestCondition asked{
      .users = {"alice", "ci-*"}, .groups = {"ml-*"}, .service_accounts = {}, .principals = {}};
  EXPECT_EQ(judge_asked(asked, {"ci-7", Groups{"x", "ml-ops"}, {}, {}}).outcome, Outcome::kPass);
  const ConditionResult wrong = judge_asked(asked, {"bob", Groups{"ml-ops"}, {}, {}});
  EXPECT_EQ(wrong.outcome, Outcome::kFail);
  EXPECT_EQ(wrong.code, Reason::kRequesterMismatch);
  EXPECT_EQ(wrong.actual["users"], "bob");
  EXPECT_EQ(judge_asked(asked, {"alice", Groups(), {}, {}}).outcome, Outcome::kFail);
  const RequestCondition account{
      .users = {}, .groups = {}, .service_accounts = {"prod-eu/*"}, .principals = {}};
  EXPECT_EQ(judge_asked(account, {{}, {}, "prod-eu/serving", {}}).outcome, Outcome::kPass);
  EXPECT_EQ(judge_asked(account, {{}, {}, "dev/serving", {}}).outcome, Outcome::kFail);
  const RequestCondition caller{
      .users = {}, .groups = {}, .service_accounts = {}, .principals = {"slurm"}};
  EXPECT_EQ(judge_asked(caller, {{}, {}, {}, "slurm"}).outcome, Outcome::kPass);
  EXPECT_EQ(judge_asked(caller, {"slurm", {}, {}, {}}).outcome, Outcome::kError);
}

TEST(Request, WhatIsNotKnown_IsAnErrorAlsoBelowNot) {
  const RequestCondition asked{
      .users = {"alice"}, .groups = {}, .service_accounts = {}, .principals = {}};
  const ConditionResult unknown = judge_asked(asked, {});
  EXPECT_EQ(unknown.outcome, Outcome::kError);
  EXPECT_EQ(unknown.code, Reason::kRequesterUnknown);
  EXPECT_EQ(judge_asked(negated(asked), {}).outcome, Outcome::kError);
  EXPECT_EQ(judge_asked(negated(asked), {"bob", {}, {}, {}}).outcome, Outcome::kPass);
  EXPECT_EQ(judge_asked(negated(asked), {"alice", {}, {}, {}}).outcome, Outcome::kFail);
}

TEST(Request, Document_IsReadBack) {
  const Workload asked = asked_by({"alice", Groups{"a", "b"}, "prod/serving", std::nullopt});
  const auto read = workload_from_json(to_json(asked));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->requester, asked.requester);
  EXPECT_FALSE(to_json(workload()).contains("requester"));
  Json other = to_json(asked);
  other["requester"]["root"] = true;
  EXPECT_FALSE(workload_from_json(other));
}

// Only what a policy asks for becomes part of a case.
TEST(Request, AsRead_KeepsWhatIsAskedFor) {
  const Workload asked = asked_by({"alice", Groups{"a", "ml-ops"}, "prod/serving", "slurm"});
  EXPECT_EQ(as_read(asked, std::vector{active(valid_policy())}).requester, Requester{});
  const std::vector policies = {active(policy_with(
      {condition("any", AnyCondition{{condition("asked", RequestCondition{.users = {},
                                                                          .groups = {"ml-*"},
                                                                          .service_accounts = {},
                                                                          .principals = {}})}})}))};
  EXPECT_EQ(as_read(asked, policies).requester, (Requester{{}, Groups{"ml-ops"}, {}, {}}));
}

// --- windows. now() is a Monday, 12:00.

TimeWindow window(const char* text) {
  return json::get<TimeWindow>(parse_json(text).value()).value();
}

TEST(Window, OpensAndCloses) {
  ASSERT_EQ(to_rfc3339(now()), "2026-06-01T12:00:00.000Z");
  const Requester nobody;
  const WindowCondition working{window(R"({"days":["mon","tue"],"from":"08:00","to":"18:00"})")};
  EXPECT_EQ(judge_asked(working, nobody).outcome, Outcome::kPass);
  const auto at = [](const char* text) { return parse_rfc3339(text).value(); };
  EXPECT_TRUE(is_open(working.window, at("2026-06-01T08:00:00Z")));
  EXPECT_FALSE(is_open(working.window, at("2026-06-01T07:59:59.999Z")));
  EXPECT_FALSE(is_open(working.window, at("2026-06-01T18:00:00Z")));
  EXPECT_FALSE(is_open(working.window, at("2026-06-03T12:00:00Z")));
  const ConditionResult closed = judge_asked(working, nobody, at("2026-06-03T12:00:00Z"));
  EXPECT_EQ(closed.outcome, Outcome::kFail);
  EXPECT_EQ(closed.code, Reason::kOutsideWindow);
  EXPECT_EQ(judge_asked(negated(working), nobody, at("2026-06-03T12:00:00Z")).outcome,
            Outcome::kPass);
  EXPECT_EQ(judge_asked(negated(working), nobody).outcome, Outcome::kFail);
  EXPECT_EQ(next_change(working.window, now()), at("2026-06-01T18:00:00Z"));
  EXPECT_EQ(next_change(working.window, at("2026-06-02T18:00:00Z")), at("2026-06-08T08:00:00Z"));
}

TEST(Window, BoundsAndMidnight) {
  const auto at = [](const char* text) { return parse_rfc3339(text).value(); };
  const TimeWindow bounded = window(
      R"({"not_before":"2026-06-10T00:00:00Z","not_after":"2026-06-11T00:00:00Z","days":["thu"]})");
  EXPECT_EQ(next_change(bounded, now()), std::nullopt);  // the 10th is a Wednesday
  const TimeWindow open = window(R"({"not_after":"2026-06-11T00:00:00Z"})");
  EXPECT_EQ(next_change(open, now()), at("2026-06-11T00:00:00Z"));
  EXPECT_EQ(next_change(open, at("2026-06-11T00:00:00Z")), std::nullopt);
  // Days that touch are one stretch.
  const TimeWindow days = window(R"({"days":["mon","tue"]})");
  EXPECT_EQ(next_change(days, now()), at("2026-06-03T00:00:00Z"));
}

TEST(Window, ThatNeverOpens_IsRefused) {
  for (const char* text :
       {R"({"from":"12:00","to":"12:00"})", R"({"from":"18:00","to":"08:00"})",
        R"({"from":"24:00"})",
        R"({"not_before":"2026-06-11T00:00:00Z","not_after":"2026-06-11T00:00:00Z"})"}) {
    EXPECT_FALSE(json::get<TimeWindow>(parse_json(text).value())) << text;
  }
}

// --- until when a verdict holds

Verdict decide_at(const PolicyDocument& policy, const Facts& facts, Timestamp at) {
  const std::vector policies = {active(policy)};
  return evaluate(policies, workload_on_node(), one(facts), {}, DecisionPoint::kServe, at);
}

TEST(ValidUntil, IsTheEarliestChange) {
  EXPECT_EQ(decide(valid_policy(), valid_facts()).valid_until, std::nullopt);
  StatementCondition fresh = stage_condition("evaluate");
  fresh.max_age_seconds = 7200;  // accepted an hour ago
  PolicyDocument policy = policy_with({manifest_condition(), condition("fresh", fresh)});
  const auto until = decide(policy, valid_facts()).valid_until;
  ASSERT_TRUE(until);
  EXPECT_EQ(*until, from_now(3600) + std::chrono::milliseconds(1));
  const auto allowed = [&](Timestamp at) { return decide_at(policy, valid_facts(), at).allowed; };
  EXPECT_TRUE(allowed(*until - std::chrono::milliseconds(1)));
  EXPECT_FALSE(allowed(*until));
  policy.require.push_back(condition("window", WindowCondition{window(R"({"to":"12:30"})")}));
  EXPECT_EQ(decide(policy, valid_facts()).valid_until, from_now(1800));
}

TEST(ValidUntil, KnowsNodesReportsAndRevocations) {
  const PolicyDocument policy =
      policy_with({manifest_condition(), condition("node", NodeCondition{}),
                   condition("report", ReportCondition{})});
  EXPECT_EQ(decide_at(policy, facts_on_node(), now()).valid_until, node_fact().expires_at);
  Facts ends = facts_on_node();
  ends.reports[0].evidence_valid_until = from_now(7);
  EXPECT_EQ(decide_at(policy, ends, now()).valid_until, from_now(7));
  Facts revoked_later = facts_on_node();
  revoked_later.manifests.change().front().statement.signers.front().key.revoked =
      Revocation{from_now(5), "planned"};
  EXPECT_EQ(decide_at(policy, revoked_later, now()).valid_until, from_now(5));
  // At create nothing of this is judged.
  EXPECT_EQ(decide(policy, facts_on_node()).valid_until, std::nullopt);
}

TEST(ValidUntil, KnowsTestsAgainstNow) {
  Facts facts = valid_facts();
  facts.statements.push_back(statement(80, "deploy", {{"ends", to_rfc3339(from_now(90))}},
                                       {signer("lea-1", "lea", "deploy")}));
  StatementCondition licensed = stage_condition("deploy");
  licensed.where = {
      {"/ends", Comparison::kGreater, {{"now_minus_seconds", 0}}, ValueType::kTimestamp}};
  const PolicyDocument policy =
      policy_with({manifest_condition(), condition("licensed", licensed)});
  const Verdict verdict = decide(policy, facts);
  EXPECT_TRUE(verdict.allowed);
  EXPECT_EQ(verdict.valid_until, from_now(90));
}

}  // namespace
}  // namespace assay::policy::test
