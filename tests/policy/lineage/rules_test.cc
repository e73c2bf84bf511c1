// SPDX-License-Identifier: Apache-2.0
// The lineage condition: signers of edges, stages, depth, licences; lint; the document.
#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "policy/lineage_condition.h"
#include "policy/lint.h"
#include "tests/policy/lineage/lineage_fixture.h"

namespace assay::policy::test {
namespace {

// corpus (collected) -> base (trained) -> tuned (finetuned, with a second dataset) -> the model
// (quantized), evaluated and approved.
Made long_lineage() {
  Made made = {
      about(1, "collect", digest_of("corpus"), "acme/corpus", {}, {maker("curator", "collect")}),
      about(2, "collect", digest_of("extra"), "acme/extra", {}, {maker("curator", "collect")}),
      about(3, "train", digest_of("base"), "acme/base", {input("dataset", "corpus", "acme/corpus")},
            {maker("trainer", "train")}),
      about(4, "finetune", digest_of("tuned"), "acme/tuned",
            {input("base-model", "base", "acme/base"), input("dataset", "extra", "acme/extra")},
            {maker("tuner", "finetune")}),
      about(5, "quantize", artifact().text(), "acme/demo",
            {input("base-model", "tuned", "acme/tuned")}, {maker("packer", "quantize")}),
      about(6, "evaluate", artifact().text(), "acme/demo", {}, {maker("eve", "evaluate")}),
      about(7, "approve", artifact().text(), "acme/demo", {}, {maker("carol", "approve")})};
  made[0].licence = "CC-BY-4.0";
  made[1].licence = "MIT OR GPL-3.0-only";
  return made;
}

Judgement with_stages(std::vector<std::string> stages) {
  LineageCondition condition;
  condition.stages = std::move(stages);
  return brief(judge_lineage(condition, long_lineage()));
}

TEST(LineageStages, InOrderOnOnePath) {
  const Judgement missing{Outcome::kFail, Reason::kStageMissing};
  EXPECT_EQ(with_stages({"collect", "train", "finetune", "quantize", "evaluate", "approve"}),
            kPassed);
  EXPECT_EQ(with_stages({"collect", "quantize"}), kPassed);
  EXPECT_EQ(with_stages({"train", "collect"}), missing);
  EXPECT_EQ(with_stages({"approve", "evaluate"}), missing);
  EXPECT_EQ(with_stages({"train", "train"}), missing);
  EXPECT_EQ(with_stages({"merge"}), missing);
}

TEST(LineageStages, AreNotPutTogetherFromTwoPaths) {
  Made made = long_lineage();
  // The second dataset was preprocessed, the first was not.
  made[1].fact.stage = "preprocess";
  made[1].inputs = {input("dataset", "corpus", "acme/corpus")};
  made[1].fact.signers[0].key = maker("curator", "preprocess");
  LineageCondition condition;
  condition.stages = {"preprocess", "train"};
  EXPECT_EQ(judge_lineage(condition, made).code, Reason::kStageMissing);
  condition.stages = {"preprocess", "finetune"};
  EXPECT_EQ(brief(judge_lineage(condition, made)), kPassed);
}

TEST(LineageStages, BelowNot_AreNoProofOfTheContrary) {
  LineageCondition condition;
  condition.stages = {"merge"};
  EXPECT_EQ(judge_not(condition, facts_with(long_lineage())).outcome, Outcome::kError);
}

TEST(LineageDepth, CountsTheLongestPath) {
  LineageCondition condition;
  condition.max_depth = 3;
  EXPECT_EQ(brief(judge_lineage(condition, long_lineage())), kPassed);
  EXPECT_EQ(judge_lineage(condition, long_lineage()).actual["depth"], 3);
  condition.max_depth = 2;
  EXPECT_EQ(brief(judge_lineage(condition, long_lineage())),
            (Judgement{Outcome::kFail, Reason::kLineageTooDeep}));
}

TEST(LineageEdges, AreSignedByWhomThePolicyNames) {
  LineageCondition condition;
  condition.edges = {{"train", "", 1, {"trainer"}}, {"", "dataset", 1, {"trainer", "tuner"}}};
  EXPECT_EQ(brief(judge_lineage(condition, long_lineage())), kPassed);
  condition.edges = {{"train", "", 1, {"somebody"}}};
  const ConditionResult result = judge_lineage(condition, long_lineage());
  EXPECT_EQ(brief(result), (Judgement{Outcome::kFail, Reason::kSignersInsufficient}));
  EXPECT_EQ(result.actual["unsigned"][0]["name"], "acme/base");
  condition.edges = {{"", "base-model", 2, {}}};
  EXPECT_EQ(judge_lineage(condition, long_lineage()).code, Reason::kSignersInsufficient);
  // A rule about what did not happen holds.
  condition.edges = {{"merge", "", 1, {"somebody"}}};
  EXPECT_EQ(brief(judge_lineage(condition, long_lineage())), kPassed);
}

TEST(LineageEdges, TwoPeopleMaySignTwoStatements) {
  Made made = long_lineage();
  made.push_back(made[2]);
  made.back().fact.id = statement_id(8);
  made.back().fact.signers[0].key = maker("second", "train");
  LineageCondition condition;
  condition.edges = {{"train", "", 2, {}}};
  EXPECT_EQ(brief(judge_lineage(condition, made)), kPassed);
  made.back().fact.signers[0].signed_at = from_now(5);
  EXPECT_EQ(judge_lineage(condition, made).outcome, Outcome::kError);
}

// The tuning of long_lineage(), as a second person tells it.
LineageStatement second_tuning(std::vector<LineageInput> inputs) {
  LineageStatement second = long_lineage()[3];
  second.fact.id = statement_id(8);
  second.fact.signers[0].key = maker("second", "finetune");
  second.inputs = std::move(inputs);
  return second;
}

TEST(LineageEdges, EachNeedsItsSigners_NotTheThingAsAWhole) {
  LineageCondition condition;
  condition.edges = {{"finetune", "", 2, {}}};
  const LineageInput base = input("base-model", "base", "acme/base");
  const LineageInput extra = input("dataset", "extra", "acme/extra");
  Made both = long_lineage();
  both.push_back(second_tuning({extra, base}));
  EXPECT_EQ(brief(judge_lineage(condition, both)), kPassed);
  // The second person does not say that the dataset went in.
  Made one = long_lineage();
  one.push_back(second_tuning({base}));
  const ConditionResult result = judge_lineage(condition, one);
  EXPECT_EQ(brief(result), (Judgement{Outcome::kFail, Reason::kSignersInsufficient}));
  ASSERT_EQ(result.actual["unsigned"].size(), 1U);
  EXPECT_EQ(result.actual["unsigned"][0]["input"]["name"], "acme/extra");
  EXPECT_EQ(result.actual["unsigned"][0]["signers"], Json({"tuner"}));
  // Only edges of the role are asked about.
  condition.edges = {{"finetune", "base-model", 2, {}}};
  EXPECT_EQ(brief(judge_lineage(condition, one)), kPassed);
  condition.edges = {{"finetune", "dataset", 2, {}}};
  EXPECT_EQ(judge_lineage(condition, one).code, Reason::kSignersInsufficient);
}

TEST(LineageEdges, AThingUnderAnotherNameIsTheSameEdge_AnotherThingIsNot) {
  LineageCondition condition;
  condition.edges = {{"finetune", "", 2, {}}};
  Made named = long_lineage();
  named.push_back(second_tuning(
      {input("base-model", "base", "acme/base"), input("dataset", "extra", "acme/renamed")}));
  named[1].subjects[0].names = {""};  // whatever it is called
  EXPECT_NE(judge_lineage(condition, named).code, Reason::kSignersInsufficient);
  Made other = long_lineage();
  other.push_back(second_tuning(
      {input("base-model", "base", "acme/base"), input("dataset", "corpus", "acme/extra")}));
  EXPECT_EQ(judge_lineage(condition, other).code, Reason::kSignersInsufficient);
}

TEST(LineageEdges, OfStatementsThatNameNothing_AreOne) {
  Made made = long_lineage();
  LineageStatement second = made[0];
  second.fact.id = statement_id(8);
  second.fact.signers[0].key = maker("second", "collect");
  made.push_back(second);
  LineageStatement third = made[1];
  third.fact.id = statement_id(9);
  third.fact.signers[0].key = maker("second", "collect");
  made.push_back(third);
  LineageCondition condition;
  condition.edges = {{"collect", "", 2, {}}};
  EXPECT_EQ(brief(judge_lineage(condition, made)), kPassed);
  made.pop_back();
  EXPECT_EQ(judge_lineage(condition, made).code, Reason::kSignersInsufficient);
}

// --- what was withdrawn, and deny lists

// The model was trained from leaked mails, said the trainer; that was withdrawn, and now it is said
// to be from the corpus.
Made taken_back() {
  Made made = valid_lineage();
  LineageStatement before = made[0];
  before.fact.id = statement_id(8);
  before.inputs = {input("dataset", "mails", "leaked/mails")};
  before.fact.withdrawn = WithdrawnFact{"incorrect", from_now(-1), {"trainer"}};
  made.push_back(before);
  return made;
}

TEST(LineageWithdrawn, TakingBackWhatWentIn_MakesNothingClean) {
  LineageCondition condition;
  EXPECT_EQ(brief(judge_lineage(condition, taken_back())), kPassed);
  const auto expect_doubt = [&](const char* by) {
    const ConditionResult result = judge_lineage(condition, taken_back());
    EXPECT_EQ(brief(result), (Judgement{Outcome::kError, Reason::kAncestorDenied}));
    EXPECT_EQ(result.actual["denied_before_withdrawal"][0]["by"], by);
    // It is no proof that they went in, either.
    EXPECT_EQ(judge_not(condition, facts_with(taken_back())).outcome, Outcome::kError);
  };
  condition.deny.digests = {digest_of("mails")};
  expect_doubt("digest");
  condition.deny.digests = {};
  condition.deny.names = {"leaked/*"};
  expect_doubt("name");
  condition.deny.digests = {digest_of("something else")};
  condition.deny.names = {};
  EXPECT_EQ(brief(judge_lineage(condition, taken_back())), kPassed);
}

TEST(LineageWithdrawn, WhatWentInFurtherUp_CountsToo) {
  Made made = taken_back();
  made.back().inputs = {input("dataset", "mails", "acme/mails")};
  made.push_back(about(9, "preprocess", digest_of("mails"), "acme/mails",
                       {input("dataset", "raw", "leaked/raw")}, {maker("cleaner", "preprocess")}));
  LineageCondition condition;
  condition.deny.digests = {digest_of("raw")};
  EXPECT_EQ(brief(judge_lineage(condition, made)),
            (Judgement{Outcome::kError, Reason::kAncestorDenied}));
}

// Nobody can have a model denied with a statement that would not have counted.
TEST(LineageWithdrawn, OfSomebodyWhoDidNotCount_SaysNothing) {
  LineageCondition condition;
  condition.deny.digests = {digest_of("mails")};
  Made made = taken_back();
  made.back().fact.signers[0].key = signer("m", "mallory", "train", {}, "mallory");
  EXPECT_EQ(brief(judge_lineage(condition, made)), kPassed);
  made = taken_back();
  made.back().fact.signers[0].key = revoked(made.back().fact.signers[0].key, now());
  EXPECT_EQ(brief(judge_lineage(condition, made)), kPassed);
}

// A withdrawn statement makes nothing known, and its signers sign no edge.
TEST(LineageWithdrawn, CountsForNothingElse) {
  Made made = taken_back();
  made.erase(made.begin());
  EXPECT_EQ(judge_lineage({}, made).code, Reason::kAncestorUnknown);
  LineageCondition condition;
  condition.deny.digests = {digest_of("something else")};
  EXPECT_EQ(judge_lineage(condition, made).code, Reason::kAncestorUnknown);
}

// --- names that are denied

Judgement with_name(const std::string& name) {
  LineageCondition condition;
  condition.deny.names = {"leaked/*", "m\xc3\xbcll/*"};
  Made made = valid_lineage();
  made[0].inputs = {input("dataset", "corpus", "acme/corpus")};
  made[0].inputs[0].also = {name};
  return brief(judge_lineage(condition, made));
}

// A character beyond ASCII can hide a name that is denied.
TEST(LineageDeny, NamesThatAreNotPlain_AreUnknown) {
  const Judgement denied{Outcome::kFail, Reason::kAncestorDenied};
  const Judgement unknown{Outcome::kError, Reason::kAncestorUnknown};
  EXPECT_EQ(with_name("acme/mails"), kPassed);
  EXPECT_EQ(with_name("leaked/mails"), denied);
  for (const char* name : {"leaked\xe2\x80\x8b/mails",  // a space without width
                           "le\xc2\xad"
                           "aked/mails",             // a soft hyphen
                           "leaked%E2%80%8B/mails",  // behind an escape
                           "\xef\xbd\x8c\xef\xbd\x85"
                           "aked/mails",  // full width
                           "le\xd0\xb0"
                           "ked/mails",                   // a Cyrillic letter
                           "leaked\xef\xbc\x8fmails"}) {  // a solidus of full width
    EXPECT_EQ(with_name(name), unknown) << name;
  }
  EXPECT_EQ(with_name("m\xc3\xbcll/x"), denied) << "a pattern that is not plain, either";
  Made made = valid_lineage();
  made[0].inputs[0].also = {"d\xc3\xa4ten"};
  EXPECT_EQ(brief(judge_lineage({}, made)), kPassed) << "no name is denied";
}

TEST(LineageLicences, EveryLeafNeedsOneThatIsAccepted) {
  LineageCondition condition;
  condition.licences = {{"CC-BY-4.0", "MIT"}, {}};
  EXPECT_EQ(brief(judge_lineage(condition, long_lineage())), kPassed);
  condition.licences = {{"cc-by-4.0", "mit"}, {}};
  EXPECT_EQ(brief(judge_lineage(condition, long_lineage())), kPassed);
  condition.licences = {{}, {"GPL-3.0-only"}};  // MIT remains
  EXPECT_EQ(brief(judge_lineage(condition, long_lineage())), kPassed);
  const Judgement refused{Outcome::kFail, Reason::kLicenceNotAllowed};
  condition.licences = {{"MIT"}, {}};
  EXPECT_EQ(brief(judge_lineage(condition, long_lineage())), refused);
  condition.licences = {{}, {"GPL-3.0-only", "MIT"}};
  EXPECT_EQ(brief(judge_lineage(condition, long_lineage())), refused);
  EXPECT_EQ(judge_not(condition, facts_with(long_lineage())).outcome, Outcome::kPass);
}

TEST(LineageLicences, DeniedInEveryForm_UnlessThatIsAllowed) {
  const Judgement refused{Outcome::kFail, Reason::kLicenceNotAllowed};
  const std::string excepted = "GPL-3.0-only WITH Classpath-exception-2.0";
  LineageCondition condition;
  condition.licences = {{}, {"gpl-3.0-only"}};
  for (const std::string& licence :
       {std::string("GPL-3.0-only"), std::string("GPL-3.0-only+"), excepted}) {
    Made made = long_lineage();
    made[0].licence = licence;
    EXPECT_EQ(brief(judge_lineage(condition, made)), refused) << licence;
  }
  Made made = long_lineage();
  made[0].licence = "GPL-3.0-or-later";
  EXPECT_EQ(brief(judge_lineage(condition, made)), kPassed);
  made[0].licence = excepted;
  condition.licences = {{"MIT", excepted}, {"GPL-3.0-only"}};
  EXPECT_EQ(brief(judge_lineage(condition, made)), kPassed);
}

TEST(LineageLicences, UnknownIsAnError_AlsoBelowNot) {
  const Judgement unknown{Outcome::kError, Reason::kLicenceUnknown};
  LineageCondition condition;
  condition.licences = {{"CC-BY-4.0", "MIT"}, {}};
  for (const auto& licence : {std::optional<std::string>(), std::optional<std::string>(""),
                              std::optional<std::string>("as you like")}) {
    Made made = long_lineage();
    made[0].licence = licence;
    EXPECT_EQ(brief(judge_lineage(condition, made)), unknown);
    EXPECT_EQ(judge_not(condition, facts_with(made)).outcome, Outcome::kError);
  }
  // A leaf that a pattern accepts has no licence.
  Made made = long_lineage();
  made.erase(made.begin());
  condition.leaves = {"acme/corpus"};
  EXPECT_EQ(brief(judge_lineage(condition, made)), unknown);
}

TEST(LineageLicences, OfAModel_IsLookedAtToo) {
  Made made = long_lineage();
  made[2].licence = "LicenseRef-research-only";
  LineageCondition condition;
  condition.licences = {{"CC-BY-4.0", "MIT"}, {}};
  EXPECT_EQ(judge_lineage(condition, made).code, Reason::kLicenceNotAllowed);
}

TEST(LineageLint, WarnsOfWhatSaysNothingOrContradicts) {
  EXPECT_TRUE(lint_lineage({}, false).empty());
  const auto count = [](const LineageCondition& condition, bool negated = false) {
    return lint_lineage(condition, negated).size();
  };
  LineageCondition condition;
  condition.leaves = {"*"};
  EXPECT_EQ(count(condition), 1U);
  condition.leaves = {"sha256:*"};
  EXPECT_EQ(count(condition), 1U);
  condition.leaves = {digest_of("corpus")};
  EXPECT_EQ(count(condition), 0U);
  condition.deny.digests = {digest_of("corpus")};
  EXPECT_EQ(count(condition), 1U);
  condition = {};
  condition.edges = {{"train", "", 2, {"one"}}};
  EXPECT_EQ(count(condition), 1U);
  condition.edges = {{"evaluate", "", 1, {}}};
  EXPECT_EQ(count(condition), 1U);
  condition.edges = {{"", "code", 1, {}}};
  EXPECT_EQ(count(condition), 0U);
  condition.roles = {"dataset", "base-model"};
  EXPECT_EQ(count(condition), 1U);
  condition = {};
  condition.roles = {"dataset"};
  EXPECT_EQ(count(condition), 1U);
  condition = {};
  condition.licences = {{"MIT"}, {"mit"}};
  EXPECT_EQ(count(condition), 2U);  // that, and that nothing is left
  condition.licences = {{}, {"MIT"}};
  EXPECT_EQ(count(condition), 1U);
  condition = {};
  EXPECT_EQ(count(condition, true), 1U);
  condition.stages = {"collect", "train", "evaluate", "quantize"};
  condition.max_depth = 2;
  EXPECT_EQ(count(condition), 0U);
  condition.max_depth = 1;
  EXPECT_EQ(count(condition), 1U);
  PolicyDocument policy = policy_with({test::condition("lineage", LineageCondition{})});
  std::get<LineageCondition>(policy.require.back().kind).leaves = {"*"};
  const auto findings = lint(policy);
  EXPECT_TRUE(std::any_of(findings.begin(), findings.end(), [](const Finding& one) {
    return one.condition == "lineage" && one.level == Finding::Level::kWarning;
  }));
}

// A model that somebody collected and nobody trained meets rules for trainings: lint says so.
TEST(LineageLint, RulesForStepsThatNeedNotHappen_AreNamed) {
  const Made collected = {
      about(1, "collect", artifact().text(), "acme/demo", {}, {maker("curator", "collect")})};
  LineageCondition condition;
  condition.edges = {{"train", "", 1, {"trainer"}}};
  EXPECT_EQ(brief(judge_lineage(condition, collected)), kPassed);
  const auto asks_for_stages = [&](std::vector<Condition> require) {
    require.push_back(test::condition("lineage", condition));
    const auto findings = lint(policy_with(std::move(require)));
    return std::ranges::any_of(findings, [](const Finding& one) {
      return one.condition == "lineage" && one.level == Finding::Level::kWarning &&
             one.text.find("add \"stages\", such as [\"train\"]") != std::string::npos;
    });
  };
  EXPECT_TRUE(asks_for_stages({}));
  condition.stages = {"collect", "approve"};
  EXPECT_TRUE(asks_for_stages({}));
  condition.stages = {"train"};
  EXPECT_FALSE(asks_for_stages({}));
  EXPECT_EQ(brief(judge_lineage(condition, collected)),
            (Judgement{Outcome::kFail, Reason::kStageMissing}));
  condition.stages.clear();
  // Another condition can ask for the step.
  StatementCondition trained;
  trained.predicate_type = kLifecyclePredicateType;
  trained.stage = "train";
  EXPECT_FALSE(asks_for_stages({test::condition("trained", trained)}));
  AnyCondition any;
  any.of = {test::condition("trained", trained)};
  EXPECT_TRUE(asks_for_stages({test::condition("any", any)}));
  condition.edges = {{"collect", "", 1, {"curator"}}};
  EXPECT_FALSE(asks_for_stages({}));
  condition.edges = {{"", "base-model", 1, {"trainer"}}};
  EXPECT_TRUE(asks_for_stages({}));
}

// With its place in the document and a code that stays, and as an error: nobody means that.
TEST(LineageLint, Contradictions_AreErrorsWithTheirPlace) {
  LineageCondition condition;
  condition.leaves = {"acme/*", "acme/corpus"};
  condition.roles = {"dataset", "base-model"};
  condition.deny.names = {"acme/corpus"};
  condition.deny.identities = {"trainer"};
  condition.edges = {{"train", "dataset", 1, {"trainer", "curator"}},
                     {"train", "code", 1, {}},
                     {"evaluate", "", 1, {}},
                     {"train", "", 3, {"curator", "other"}}};
  condition.stages = {"collect", "train", "quantize"};
  condition.max_depth = 1;
  condition.licences = LineageLicences{{"MIT"}, {"mit"}};
  PolicyDocument policy = policy_with({test::condition("lineage", condition)});
  std::vector<std::string> found;
  for (const Finding& one : lint(policy)) {
    if (one.condition == "lineage" && one.level == Finding::Level::kError) {
      found.push_back(one.where + " " + one.code);
    }
  }
  EXPECT_EQ(found,
            (std::vector<std::string>{"/require/0/lineage/leaves/1 contradiction",
                                      "/require/0/lineage/edges/0/signers/identities contradiction",
                                      "/require/0/lineage/edges/1/role contradiction",
                                      "/require/0/lineage/edges/2/stage contradiction",
                                      "/require/0/lineage/edges/3/signers/at_least never-passes",
                                      "/require/0/lineage/licences contradiction",
                                      "/require/0/lineage/licences never-passes",
                                      "/require/0/lineage/max_depth never-passes"}));
  // What cannot pass here cannot pass in a combination either.
  AllCondition all;
  all.of = {test::condition("inner", condition)};
  const auto findings = lint(policy_with({test::condition("outer", all)}));
  EXPECT_TRUE(std::ranges::any_of(findings, [](const Finding& one) {
    return one.condition == "outer" && one.code == "never-passes";
  }));
}

// The policies of docs/lineage.md, by their names.
std::map<std::string, PolicyDocument> policies_of_the_page() {
  std::ifstream in(std::string(ASSAY_SOURCE_DIR) + "/docs/lineage.md");
  std::stringstream text;
  text << in.rdbuf();
  const std::string page = text.str();
  const std::string fence = "```json policy\n";
  std::map<std::string, PolicyDocument> policies;
  for (std::size_t begin = page.find(fence); begin != std::string::npos;
       begin = page.find(fence, begin + 1)) {
    const std::size_t from = begin + fence.size();
    const auto policy = parse_policy(as_bytes(page.substr(from, page.find("```", from) - from)));
    EXPECT_TRUE(policy) << to_string(policy.error());
    policies.emplace(policy->name, *policy);
  }
  return policies;
}

// The examples can be stored, and nothing speaks against them.
TEST(LineagePage, ExamplesArePolicies) {
  const auto policies = policies_of_the_page();
  for (const auto& [name, policy] : policies) {
    for (const Finding& finding : lint(policy)) {
      EXPECT_EQ(finding.level, Finding::Level::kNote) << finding.text;
    }
    const Json written = to_json(policy);
    EXPECT_EQ(to_json(parse_policy(as_bytes(written.dump())).value()), written);
  }
  EXPECT_EQ(policies.size(), 3U);
}

TEST(LineagePage, OnlyTheseDatasets_AreWhatTheCuratorCollected) {
  const PolicyDocument policy = policies_of_the_page().at("approved-datasets");
  const TrustedKey curator =
      signer("cora-1", "curator@acme.example", "collect", {}, "acme/approved");
  const auto judged = [&](const std::string& name, const std::vector<TrustedKey>& collectors) {
    Made made = valid_lineage();
    made[0].inputs[0].name = name;
    made.pop_back();
    for (const TrustedKey& one : collectors) {
      made.push_back(about(20 + made.size(), "collect", digest_of("corpus"), name, {}, {one}));
    }
    return brief(decide(policy, facts_with(made)).policies.front().conditions.at(1));
  };
  const Judgement unknown{Outcome::kError, Reason::kAncestorUnknown};
  EXPECT_EQ(judged("acme/approved/mails", {curator}), kPassed);
  EXPECT_EQ(judged("acme/approved/mails", {}), unknown);
  EXPECT_EQ(judged("acme/other", {curator}), unknown) << "a name outside of the role";
  const TrustedKey other = maker("otto", "collect");
  EXPECT_EQ(judged("acme/approved/mails", {other}),
            (Judgement{Outcome::kFail, Reason::kSignersInsufficient}));
  EXPECT_EQ(judged("acme/approved/mails", {other, curator}), kPassed);
}

TEST(LineagePolicy, RefusesALicenceThatIsNone) {
  const auto parse = [](const std::string& licence) {
    Json document = to_json(policy_with({}));
    document["require"] = {{{"id", "x"}, {"lineage", {{"licences", {{"allow", {licence}}}}}}}};
    return parse_policy(as_bytes(document.dump()));
  };
  EXPECT_TRUE(parse("GPL-2.0-only WITH Classpath-exception-2.0"));
  const auto refused = parse("MIT OR BSD-3-Clause");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kPolicyInvalid);
  EXPECT_EQ(refused.error().where, "/require/0/lineage/licences/allow/0");
}

// --- the document

TEST(LineageDocument, IsTheSameInEveryOrder) {
  Made made = long_lineage();
  made[3].unread = true;
  made.push_back(joins(9, {digest_of("corpus"), artifact().text()}, "acme/demo",
                       {publisher("alice-1", "alice")}));
  const std::string first = canonical_json(to_json(*lineage_of(made))).value();
  std::reverse(made.begin(), made.end());
  EXPECT_EQ(canonical_json(to_json(*lineage_of(made))).value(), first);
  const auto read = lineage_from_json(parse_json(first).value());
  ASSERT_TRUE(read);
  EXPECT_EQ(canonical_json(to_json(**read)).value(), first);
  // It is part of the facts, and is judged alike when they are read again.
  const Facts facts = facts_with(long_lineage());
  const Facts again = facts_from_json(to_json(facts)).value();
  ASSERT_NE(again.lineage, nullptr);
  EXPECT_EQ(brief(judge_alone(LineageCondition{}, again)), kPassed);
}

TEST(LineageDocument, RefusesWhatItDoesNotKnow) {
  const Json good = to_json(*lineage_of(long_lineage()));
  for (const char* path : {"/start", "/statements", "/statements/0/subjects", "/statements/0/fact",
                           "/statements/0/subjects/0/names", "/statements/3/inputs/0/role"}) {
    Json bad = good;
    bad[Json::json_pointer(path)] = 7;
    EXPECT_FALSE(lineage_from_json(bad)) << path;
  }
  Json bad = good;
  bad["statements"][0]["more"] = true;
  EXPECT_FALSE(lineage_from_json(bad));
}

}  // namespace
}  // namespace assay::policy::test
