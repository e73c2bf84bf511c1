// SPDX-License-Identifier: Apache-2.0
// Demands on what a machine started: one start that is as asked, and one thing wrong with it in
// each case, on nodes and on evidence of stages.
#include "policy/conditions/boot.h"

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "policy/evaluate.h"
#include "policy/lint.h"
#include "schemas/core/json_values.h"
#include "schemas/core/sha.h"
#include "tests/policy/fixture.h"

namespace assay::policy::test {
namespace {

const std::string kLoader(96, '1');
const std::string kKernel(96, '2');
const std::string kInitrd(96, '3');
const std::string kEvil(96, 'e');
const std::string kCommandLine = "/vmlinuz root=/dev/vda ro";

std::string digest_of(const std::string& text) {
  return sha(HashAlgorithm::kSha384, as_bytes(text)).hex();
}

MeasuredBoot boot() {
  return {true, std::vector{kLoader, kKernel}, std::vector{digest_of(kCommandLine), kInitrd}};
}

BootDemands strict() {
  return {.secure_boot = true,
          .kernels = {kEvil.substr(1) + "f", kKernel},
          .initrds = {kInitrd},
          .command_lines = {kCommandLine},
          .others = {kLoader}};
}

BootOutcome outcome(const BootDemands& demands, const std::optional<MeasuredBoot>& measured) {
  return judge_boot(demands, measured).outcome;
}

TEST(Boot, AsAsked_Passes) {
  EXPECT_EQ(outcome(strict(), boot()), BootOutcome::kPass);
  EXPECT_EQ(outcome({}, boot()), BootOutcome::kPass);
}

TEST(Boot, MissingLog_NeverPasses) {
  EXPECT_EQ(outcome({}, std::nullopt), BootOutcome::kUnknown);
  EXPECT_EQ(outcome(strict(), std::nullopt), BootOutcome::kUnknown);
  BootDemands open = strict();
  open.allow_others = true;
  EXPECT_EQ(outcome(open, std::nullopt), BootOutcome::kUnknown);
}

TEST(Boot, OneThingWrong_IsNoPass) {
  struct Case {
    const char* what;
    std::function<void(MeasuredBoot&)> change;
    BootOutcome expected;
  };
  const std::vector<Case> cases = {
      {"off", [](MeasuredBoot& b) { b.secure_boot = false; }, BootOutcome::kMismatch},
      {"not measured", [](MeasuredBoot& b) { b.secure_boot.reset(); }, BootOutcome::kUnknown},
      {"another kernel", [](MeasuredBoot& b) { b.rtmr1->back() = kEvil; }, BootOutcome::kMismatch},
      {"one more image", [](MeasuredBoot& b) { b.rtmr1->push_back(kEvil); },
       BootOutcome::kMismatch},
      {"no initrd", [](MeasuredBoot& b) { b.rtmr2->pop_back(); }, BootOutcome::kMismatch},
      {"another command line",
       [](MeasuredBoot& b) { b.rtmr2->front() = digest_of(kCommandLine + " init=/bin/sh"); },
       BootOutcome::kMismatch},
      {"a second command line",
       [](MeasuredBoot& b) { b.rtmr2->push_back(digest_of("init=/bin/sh")); },
       BootOutcome::kMismatch},
      {"nothing in RTMR2", [](MeasuredBoot& b) { b.rtmr2->clear(); }, BootOutcome::kMismatch},
      {"too much in RTMR1", [](MeasuredBoot& b) { b.rtmr1.reset(); }, BootOutcome::kUnknown},
      {"too much in RTMR2", [](MeasuredBoot& b) { b.rtmr2.reset(); }, BootOutcome::kUnknown},
  };
  for (const Case& test : cases) {
    MeasuredBoot changed = boot();
    test.change(changed);
    EXPECT_EQ(outcome(strict(), changed), test.expected) << test.what;
  }
}

TEST(Boot, WhatIsInNoList_IsNamed) {
  MeasuredBoot changed = boot();
  for (const char digit : {'4', '5', '6', '7', '8'}) {
    changed.rtmr2->push_back(std::string(96, digit));
  }
  changed.rtmr2->erase(changed.rtmr2->begin() + 1);
  const JudgedBoot judged = judge_boot(strict(), changed);
  EXPECT_EQ(judged.actual["missing"], Json({"initrds"}));
  EXPECT_EQ(judged.actual["unexpected"].size(), 4U);
  EXPECT_EQ(judged.actual["unexpected"][0], std::string(96, '4'));
  BootDemands open = strict();
  open.allow_others = true;
  open.initrds.clear();
  EXPECT_EQ(outcome(open, changed), BootOutcome::kPass);
}

TEST(Boot, CommandLine_CountsInEachOfItsForms) {
  std::string wide;
  for (const char letter : kCommandLine) {
    wide += letter;
    wide += '\0';
  }
  for (const std::string& text : {kCommandLine, wide, wide + std::string(2, '\0')}) {
    MeasuredBoot changed = boot();
    changed.rtmr2->front() = digest_of(text);
    EXPECT_EQ(outcome(strict(), changed), BootOutcome::kPass) << text;
  }
}

// --- on nodes

ConditionResult judge_node(const std::optional<MeasuredBoot>& measured) {
  Facts facts = facts_on_node();
  facts.node->boot = measured;
  NodeCondition condition;
  condition.boot = strict();
  return judge_on_node(std::move(condition), facts);
}

TEST(Boot, OfANode_Decides) {
  EXPECT_EQ(judge_node(boot()).outcome, Outcome::kPass);
  EXPECT_EQ(judge_node(std::nullopt).outcome, Outcome::kFail);
  EXPECT_EQ(judge_node(std::nullopt).code, Reason::kEventLogMissing);
  MeasuredBoot off = boot();
  off.secure_boot = false;
  const ConditionResult result = judge_node(off);
  EXPECT_EQ(result.code, Reason::kBootMismatch);
  EXPECT_EQ(result.actual["evidence"]["boot"]["secure_boot"], false);
  EXPECT_EQ(result.expected["boot"]["kernels"][1], kKernel);
}

TEST(Boot, OfANodeWithoutEvidence_IsAsked) {
  Facts facts = facts_on_node();
  facts.node->worker_measured = false;
  facts.node->appraised_at.reset();
  NodeCondition condition;
  condition.worker_measured = false;
  condition.boot = BootDemands{};
  const ConditionResult result = judge_on_node(std::move(condition), facts);
  EXPECT_EQ(result.outcome, Outcome::kFail);
  EXPECT_EQ(result.code, Reason::kWorkerNotMeasured);
}

// Neither a log that is not there nor one of another start is turned round.
TEST(Boot, BelowNot_NeverPasses) {
  for (const auto& measured : {std::optional<MeasuredBoot>(), std::optional(boot())}) {
    Facts facts = facts_on_node();
    facts.node->boot = measured;
    if (measured) {
      facts.node->boot->secure_boot = false;
    }
    NodeCondition asked;
    asked.boot = strict();
    NotCondition negation;
    negation.of = {condition("part", std::move(asked))};
    EXPECT_EQ(judge_on_node(std::move(negation), facts).outcome, Outcome::kError);
  }
}

// --- on evidence of stages

ConditionResult judge_stage(const std::optional<MeasuredBoot>& measured) {
  StageEvidenceFact fact{signer("trainer-1", "trainer", "train").id, "tdx", from_now(-1800)};
  fact.anchor = Anchor::root(sha256(as_bytes("vendor's root")));
  fact.anchor_is_vendor = true;
  fact.current = true;
  fact.has_reference_values = true;
  fact.boot = measured;
  Facts facts = valid_facts();
  for (StatementFact& statement : facts.statements.change()) {
    if (statement.stage == "train") {
      statement.evidence = {fact};
    }
  }
  StatementCondition asked = stage_condition("train");
  asked.evidence = EvidenceDemands{};
  asked.evidence->boot = strict();
  return judge_alone(std::move(asked), facts);
}

TEST(Boot, OfAStage_Decides) {
  EXPECT_EQ(judge_stage(boot()).outcome, Outcome::kPass);
  EXPECT_EQ(judge_stage(std::nullopt).code, Reason::kStageEventLogMissing);
  MeasuredBoot changed = boot();
  changed.rtmr1->push_back(kEvil);
  EXPECT_EQ(judge_stage(changed).code, Reason::kStageBootMismatch);
}

// --- documents

TEST(Boot, Facts_RoundTrip) {
  Facts facts = facts_on_node();
  facts.node->boot = boot();
  EXPECT_EQ(facts_from_json(to_json(facts)).value().node->boot, boot());
  facts.node->boot = MeasuredBoot{};
  EXPECT_EQ(facts_from_json(to_json(facts)).value().node->boot, MeasuredBoot{});
}

TEST(Boot, MalformedFacts_AreRefused) {
  const std::vector<Json> wrong = {
      nullptr,
      Json::array(),
      {{"secure_boot", true}},
      {{"secure_boot", 1}, {"rtmr1", nullptr}, {"rtmr2", nullptr}},
      {{"secure_boot", true}, {"rtmr1", "x"}, {"rtmr2", nullptr}},
      {{"secure_boot", true}, {"rtmr1", {"ab"}}, {"rtmr2", nullptr}},
      {{"secure_boot", true}, {"rtmr1", {1}}, {"rtmr2", nullptr}},
      {{"secure_boot", true}, {"rtmr1", {std::string(96, 'G')}}, {"rtmr2", nullptr}},
      {{"secure_boot", true}, {"rtmr1", nullptr}, {"rtmr2", nullptr}, {"more", 1}},
      {{"secure_boot", true},
       {"rtmr1", std::vector<std::string>(kMaxMeasured + 1, kKernel)},
       {"rtmr2", nullptr}},
  };
  for (const Json& json : wrong) {
    EXPECT_FALSE(measured_boot_from_json(json)) << json.dump();
  }
}

TEST(Boot, Demands_RoundTrip) {
  EXPECT_EQ(json::get<BootDemands>(to_json(strict())), strict());
  BootDemands open;
  open.allow_others = true;
  EXPECT_EQ(json::get<BootDemands>(to_json(open)), open);
}

TEST(Boot, Lint_WarnsOfWhatProvesLittle) {
  EXPECT_TRUE(lint_boot(std::nullopt).empty());
  EXPECT_TRUE(lint_boot(strict()).empty());
  BootDemands open = strict();
  open.allow_others = true;
  EXPECT_EQ(lint_boot(open).size(), 1U);
  BootDemands line;
  line.command_lines = {kCommandLine};
  EXPECT_EQ(lint_boot(line).size(), 1U);
}

}  // namespace
}  // namespace assay::policy::test
