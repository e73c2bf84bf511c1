// SPDX-License-Identifier: Apache-2.0
// When the node agent calls a pod verified, and when it takes that back.
#include "worker/readiness.h"

#include <gtest/gtest.h>

#include "tests/support/manual_clock.h"

namespace assay::worker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kPod = "5f1d0c52-6a3c-4a7e-9d0e-0b8f3a5d2c11";

GatedPod pod_of(const std::string& uid) { return {uid, "server", "prod", std::nullopt}; }

ServeAnswer allow(const std::string& id) { return {true, true, id, {}, std::nullopt}; }
ServeAnswer deny(const std::string& id, std::vector<std::string> reasons = {"report-missing"}) {
  return {true, false, id, std::move(reasons), std::nullopt};
}

// Keeps conditions as an API server does.
class FakePods final : public PodApi {
 public:
  Result<std::vector<GatedPod>> pods() override {
    return broken ? Result<std::vector<GatedPod>>(fail(ErrorCode::kConnectionFailed, "down"))
                  : there;
  }
  Status set(const GatedPod& pod, const PodCondition& condition,
             std::optional<Timestamp> since) override {
    if (refuses) {
      return fail(*refuses, "refused");
    }
    ++patches;
    turned = since;
    for (GatedPod& one : there) {
      if (one.uid == pod.uid) {
        one.shown = condition;
      }
    }
    return {};
  }

  std::vector<GatedPod> there{pod_of(kPod)};
  bool broken = false;
  std::optional<ErrorCode> refuses{};
  int patches = 0;
  std::optional<Timestamp> turned{};
};

class ReadinessTest : public testing::Test {
 protected:
  // What the service says; recorded decisions get ids in turn.
  Result<ServeAnswer> ask(const std::string& uid, bool dry_run) {
    EXPECT_EQ(uid, kPod);
    ++(dry_run ? dry_runs_ : records_);
    if (!answer_) {
      return std::unexpected(answer_.error());
    }
    ServeAnswer answer = *answer_;
    answer.id = dry_run ? "dry" : "d" + std::to_string(records_);
    return answer;
  }
  PodCondition after_round() {
    readiness_.round({});
    return pods_.there.front().shown.value_or(PodCondition{});
  }

  ManualClock clock_;
  FakePods pods_;
  std::vector<Json> told_;
  Events events_{clock_, [this](const Json& event) { told_.push_back(event); }};
  Result<ServeAnswer> answer_ = allow("");
  std::set<std::string> violated_;
  int dry_runs_ = 0;
  int records_ = 0;
  ReadinessTimes times_{milliseconds(10'000), seconds(300), milliseconds(1'000)};
  Readiness readiness_{clock_,
                       pods_,
                       [this](const std::string& uid, bool dry_run) { return ask(uid, dry_run); },
                       [this] { return violated_; },
                       events_,
                       times_};
};

TEST_F(ReadinessTest, Allow_RepeatsTheIdOfTheRecordedDecision) {
  EXPECT_EQ(after_round(), (PodCondition{"True", "Allowed", "decision d1"}));
  EXPECT_EQ(pods_.turned, clock_.now());
  EXPECT_EQ(told_.back().at("event"), "pod-condition");
}

TEST_F(ReadinessTest, SameAnswer_IsNeitherRecordedNorSetAgain) {
  (void)after_round();
  for (int i = 0; i < 50; ++i) {
    clock_.advance(times_.period);
    EXPECT_EQ(after_round().message, "decision d1");
  }
  EXPECT_EQ(records_, 1);
  EXPECT_EQ(pods_.patches, 1);
}

TEST_F(ReadinessTest, Deny_IsFalseWithCodes_AndAllowComesLater) {
  answer_ = deny("", {"report-missing", "node-not-enrolled"});
  EXPECT_EQ(after_round(),
            (PodCondition{"False", "Denied", "decision d1: report-missing, node-not-enrolled"}));
  answer_ = allow("");
  EXPECT_EQ(after_round(), (PodCondition{"True", "Allowed", "decision d2"}));
  answer_ = deny("", {"instance-unwatched"});
  EXPECT_EQ(after_round().status, "False");
  EXPECT_EQ(records_, 3);
}

TEST_F(ReadinessTest, OtherReasonsOfADeny_AreRecordedOnceAMinute) {
  answer_ = deny("", {"a"});
  (void)after_round();
  answer_ = deny("", {"b"});
  EXPECT_EQ(after_round().message, "decision d1: a");
  clock_.advance(seconds(60));
  EXPECT_EQ(after_round().message, "decision d2: b");
}

TEST_F(ReadinessTest, NoPolicySelects_IsNotVerified) {
  answer_ = ServeAnswer{};
  EXPECT_EQ(after_round().reason, "NotSelected");
  EXPECT_EQ(after_round().status, "False");
  EXPECT_EQ(records_, 0);
}

TEST_F(ReadinessTest, PolicyThatSelectsNoLonger_TakesTheAllowAway) {
  EXPECT_EQ(after_round().status, "True");
  answer_ = ServeAnswer{};
  EXPECT_EQ(after_round().status, "False");
}

TEST_F(ReadinessTest, WithoutAnAnswer_AnAllowIsHeldForATime) {
  (void)after_round();
  answer_ = fail(ErrorCode::kConnectionFailed, "down");
  clock_.advance(times_.hold - milliseconds(1));
  EXPECT_EQ(after_round().status, "True");
  clock_.advance(milliseconds(1));
  EXPECT_EQ(after_round(), (PodCondition{"False", "Undecided", "no decision: connection-failed"}));
}

TEST_F(ReadinessTest, WithoutAnAnswer_AnAllowEndsByItsOwnTime) {
  ServeAnswer short_lived = allow("");
  short_lived.valid_until = clock_.now() + seconds(20);
  answer_ = short_lived;
  EXPECT_EQ(after_round().status, "True");
  answer_ = fail(ErrorCode::kConnectionFailed, "down");
  clock_.advance(seconds(20));
  EXPECT_EQ(after_round().reason, "Undecided");
}

TEST_F(ReadinessTest, WithoutAnAnswer_WhatAnEarlierAgentSaidCountsForNothing) {
  pods_.there.front().shown = PodCondition{"True", "Allowed", "decision d0"};
  answer_ = fail(ErrorCode::kForbidden, "no role");
  EXPECT_EQ(after_round(), (PodCondition{"False", "Undecided", "no decision: forbidden"}));
}

TEST_F(ReadinessTest, RecordThatFails_IsNoAllow) {
  int asked = 0;
  Readiness readiness(
      clock_, pods_,
      [&](const std::string&, bool dry_run) -> Result<ServeAnswer> {
        ++asked;
        return dry_run ? Result<ServeAnswer>(allow("dry")) : fail(ErrorCode::kStorage, "full");
      },
      [] { return std::set<std::string>(); }, events_, times_);
  readiness.round({});
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(pods_.there.front().shown->reason, "Undecided");
}

TEST_F(ReadinessTest, ConditionThatSomebodyElseSet_IsSetRight) {
  answer_ = deny("");
  (void)after_round();
  pods_.there.front().shown = PodCondition{"True", "Allowed", "decision d1"};
  EXPECT_EQ(after_round().status, "False");
  pods_.there.front().shown = std::nullopt;
  EXPECT_EQ(after_round().status, "False");
}

TEST_F(ReadinessTest, ViolatedInstance_IsFalseAtOnce_AndThoughTheServiceStillAllows) {
  (void)after_round();
  violated_ = {kPod, "another"};
  const int asked = dry_runs_;
  readiness_.look();
  EXPECT_EQ(pods_.there.front().shown->reason, "Violated");
  EXPECT_EQ(dry_runs_, asked);
  EXPECT_EQ(after_round().reason, "Violated");
  answer_ = deny("", {"instance-violated"});
  EXPECT_EQ(after_round().reason, "Denied");
  violated_.clear();
  answer_ = fail(ErrorCode::kConnectionFailed, "down");
  EXPECT_EQ(after_round().reason, "Undecided");
}

TEST_F(ReadinessTest, ViolatedInstance_IsNotHeldWithoutAnAnswer) {
  (void)after_round();
  violated_ = {kPod};
  answer_ = fail(ErrorCode::kConnectionFailed, "down");
  EXPECT_EQ(after_round().status, "False");
}

TEST_F(ReadinessTest, AllowThatEndedByItself_IsRecordedAgainTenMinutesLater) {
  ServeAnswer short_lived = allow("");
  short_lived.valid_until = clock_.now() + seconds(20);
  answer_ = short_lived;
  (void)after_round();
  clock_.advance(seconds(20));
  EXPECT_EQ(after_round().message, "decision d1");
  clock_.advance(seconds(580));
  EXPECT_EQ(after_round().message, "decision d2");
}

TEST_F(ReadinessTest, ApiServerThatFails_IsToldOnceAndTriedAgain) {
  pods_.refuses = ErrorCode::kForbidden;
  EXPECT_EQ(after_round(), PodCondition{});
  EXPECT_EQ(after_round(), PodCondition{});
  EXPECT_EQ(told_.size(), 1U);
  pods_.refuses.reset();
  EXPECT_EQ(after_round().status, "True");
  pods_.broken = true;
  answer_ = deny("");
  EXPECT_EQ(after_round().status, "False") << "what is known goes on without the list";
}

TEST_F(ReadinessTest, PodThatIsGone_IsForgotten) {
  (void)after_round();
  pods_.refuses = ErrorCode::kNotFound;
  answer_ = deny("");
  (void)after_round();
  EXPECT_EQ(told_.back().at("event"), "pod-condition") << "no trouble is told";
  pods_.there.clear();
  const int asked = dry_runs_;
  readiness_.round({});
  EXPECT_EQ(dry_runs_, asked);
}

std::string list_of(const std::string& members) {
  return R"({"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"uid":")" +
         std::string(kPod) + R"(","name":"server","namespace":"prod"},)" + members + "}]}";
}

Result<std::vector<GatedPod>> read(const std::string& text) {
  return gated_pods(as_bytes(text), "node-1");
}

constexpr const char* kGate =
    R"("spec":{"nodeName":"node-1","readinessGates":[{"conditionType":"assay.dev/verified"}]})";

TEST(GatedPods, AreThoseOfThisNodeWithTheGate) {
  const auto pods = read(list_of(std::string(kGate) +
                                 R"(,"status":{"phase":"Running","conditions":[{"type":"Ready",)"
                                 R"("status":"False"},{"type":"assay.dev/verified",)"
                                 R"("status":"True","reason":"Allowed","message":"decision x"}]})"))
                        .value();
  ASSERT_EQ(pods.size(), 1U);
  EXPECT_EQ(pods.front().uid, kPod);
  EXPECT_EQ(pods.front().shown, (PodCondition{"True", "Allowed", "decision x"}));
  for (const char* members :
       {R"("spec":{"nodeName":"node-1"})",
        R"("spec":{"nodeName":"node-2","readinessGates":[{"conditionType":"assay.dev/verified"}]})",
        R"("spec":{"readinessGates":[{"conditionType":"assay.dev/verified"}]})",
        R"("spec":{"nodeName":"node-1","readinessGates":[{"conditionType":"other"}]})",
        R"("spec":{"nodeName":"node-1","readinessGates":"assay.dev/verified"})"}) {
    EXPECT_TRUE(read(list_of(members)).value().empty()) << members;
  }
  EXPECT_TRUE(
      read(list_of(std::string(kGate) + R"(,"status":{"phase":"Failed"})")).value().empty());
}

// Authors of pods choose such numbers, and must not make the agent blind.
TEST(GatedPods, NumbersOfAnySize_AreRead) {
  EXPECT_EQ(read(list_of(std::string(kGate) + R"(,"more":9223372036854775807)"))->size(), 1U);
}

TEST(GatedPods, AnswersThatAreNoList_AreRefused) {
  for (const char* text : {"", "{}", "[]", R"({"kind":"PodList"})",
                           R"({"kind":"PodList","items":{}})", R"({"kind":"Status","items":[]})"}) {
    EXPECT_FALSE(read(text)) << text;
  }
  for (const char* name : {"", "..", "../x", "a/b", "a b", "A", "a%2fb"}) {
    std::string named = list_of(kGate);
    named.replace(named.find("server"), 6, name);
    EXPECT_FALSE(read(named)) << name;
  }
  std::string other_uid = list_of(kGate);
  other_uid.replace(other_uid.find(kPod), 8, "../../..");
  EXPECT_FALSE(read(other_uid));
}

Json answer_json() {
  return {{"selected", true},
          {"decision",
           {{"id", "0190a1b2-0000-7000-8000-000000000001"},
            {"point", "serve"},
            {"dry_run", false},
            {"request", {{"cluster", "west"}, {"pod_uid", kPod}, {"node", "node-1"}}},
            {"verdict", {{"allowed", true}, {"reasons", Json::array()}}}}}};
}

TEST(ServeAnswers, AreAboutThisQuestionAlone) {
  const ServeQuestion question{"west", kPod, "node-1", false};
  EXPECT_TRUE(serve_answer_from_json(answer_json(), question).value().allowed);
  const std::vector<std::pair<const char*, Json>> changes = {
      {"/selected", "yes"},
      {"/decision", nullptr},
      {"/decision/id", "1"},
      {"/decision/point", "create"},
      {"/decision/dry_run", true},
      {"/decision/dry_run", nullptr},
      {"/decision/request/cluster", "east"},
      {"/decision/request/pod_uid", "other"},
      {"/decision/request/node", "node-2"},
      {"/decision/verdict", nullptr},
      {"/decision/verdict/allowed", "true"},
      {"/decision/verdict/valid_until", "soon"}};
  for (const auto& [where, value] : changes) {
    Json changed = answer_json();
    changed[Json::json_pointer(where)] = value;
    EXPECT_FALSE(serve_answer_from_json(changed, question)) << where << " " << value;
  }
  EXPECT_FALSE(serve_answer_from_json({{"selected", false}}, question).value().allowed);
}

TEST(ConditionPatch, NamesThePodAndNothingElse) {
  const Json patch =
      parse_json(condition_patch(pod_of(kPod), {"False", "Denied", "x"}, {})).value();
  EXPECT_EQ(patch, (Json{{"metadata", {{"uid", kPod}}},
                         {"status",
                          {{"conditions", Json::array({{{"type", "assay.dev/verified"},
                                                        {"status", "False"},
                                                        {"reason", "Denied"},
                                                        {"message", "x"}}})}}}}));
}

}  // namespace
}  // namespace assay::worker
