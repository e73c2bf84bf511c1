// SPDX-License-Identifier: Apache-2.0
// The lineage condition: what it takes to be known, and what is denied.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/policy/lineage/lineage_fixture.h"

namespace assay::policy::test {
namespace {

const Judgement kUnknownAncestor{Outcome::kError, Reason::kAncestorUnknown};
const Judgement kDenied{Outcome::kFail, Reason::kAncestorDenied};

// The model, merged from a base and an adapter; each of them from a dataset.
Made merged() {
  Made made = valid_lineage();
  made[0] =
      about(20, "merge", artifact().text(), "acme/demo",
            {input("base-model", "base", "acme/base"), input("adapter", "adapter", "acme/adapter")},
            {maker("merger", "merge")});
  made.push_back(about(13, "train", digest_of("base"), "acme/base",
                       {input("dataset", "corpus", "acme/corpus")}, {maker("trainer", "train")}));
  made.push_back(
      about(14, "finetune", digest_of("adapter"), "acme/adapter",
            {input("dataset", "corpus", "acme/corpus"), input("base-model", "base", "acme/base")},
            {maker("tuner", "finetune")}));
  return made;
}

TEST(Lineage, KnownDownToACollectedLeaf_Passes) {
  EXPECT_EQ(brief(judge_lineage({}, valid_lineage())), kPassed);
  EXPECT_EQ(brief(judge_lineage({}, merged())), kPassed);
}

TEST(Lineage, NullLineage_IsAnError_AlsoBelowNot) {
  EXPECT_EQ(brief(judge_alone(LineageCondition{}, valid_facts())), kUnknownAncestor);
  EXPECT_EQ(judge_not({}, valid_facts()).outcome, Outcome::kError);
}

TEST(Lineage, OfAnotherArtifact_IsAnError) {
  Facts facts = facts_with(valid_lineage());
  facts.lineage = Lineage::make(digest_of("other"), facts.lineage->statements());
  EXPECT_EQ(brief(judge_alone(LineageCondition{}, facts)), kUnknownAncestor);
}

TEST(Lineage, ModelWithoutStatements_IsUnknown) {
  EXPECT_EQ(brief(judge_lineage({}, {})), kUnknownAncestor);
}

TEST(Lineage, LeafWithoutCollect_IsUnknown_AlsoBelowNot) {
  Made made = valid_lineage();
  made.pop_back();
  const ConditionResult result = judge_lineage({}, made);
  EXPECT_EQ(brief(result), kUnknownAncestor);
  EXPECT_EQ(result.actual["unknown"][0]["name"], "acme/corpus");
  LineageCondition deny;
  deny.deny.digests = {digest_of("other")};
  EXPECT_EQ(judge_not(deny, facts_with(made)).outcome, Outcome::kError);
}

// Another stage says something of a thing, and does not make it, unless the policy says that it
// does.
TEST(Lineage, OwnStage_MakesNothingKnown_UnlessThePolicyNamesIt) {
  Made made = valid_lineage();
  made[0].fact.stage = "scan";
  made[0].fact.signers[0].key = maker("trainer", "scan");
  EXPECT_EQ(brief(judge_lineage({}, made)), kUnknownAncestor);
  LineageCondition condition;
  condition.stages = {"scan"};
  EXPECT_EQ(brief(judge_lineage(condition, made)), kPassed);
  condition = {};
  condition.edges = {{"scan", "", 1, {}}};
  EXPECT_EQ(brief(judge_lineage(condition, made)), kPassed);
  // What it names is looked at all the same.
  made.push_back(about(13, "train", artifact().text(), "acme/demo",
                       {input("dataset", "corpus", "acme/corpus")}, {maker("trainer", "train")}));
  EXPECT_EQ(brief(judge_lineage({}, made)), kPassed);
  made[0].inputs[0] = input("dataset", "unheard of", "acme/more");
  EXPECT_EQ(brief(judge_lineage({}, made)), kUnknownAncestor);
}

TEST(Lineage, TrainingWithoutInputs_MakesNoLeafKnown) {
  Made made = valid_lineage();
  made[1].fact.stage = "preprocess";
  EXPECT_EQ(brief(judge_lineage({}, made)), kUnknownAncestor);
}

TEST(Lineage, EvaluationHasNoAncestors) {
  Made made = valid_lineage();
  made[0].fact.stage = "evaluate";
  EXPECT_EQ(brief(judge_lineage({}, made)), kUnknownAncestor);
}

TEST(Lineage, LeafPattern_AcceptsByDigestOrByName) {
  Made made = valid_lineage();
  made.pop_back();
  LineageCondition condition;
  for (const std::string& leaf : {digest_of("corpus"), std::string("sha256:*"),
                                  std::string("acme/corpus"), std::string("acme/c*")}) {
    condition.leaves = {leaf};
    EXPECT_EQ(brief(judge_lineage(condition, made)), kPassed) << leaf;
  }
  for (const std::string& leaf :
       {digest_of("other"), std::string("sha384:*"), std::string("acme"), std::string("other/*")}) {
    condition.leaves = {leaf};
    EXPECT_EQ(brief(judge_lineage(condition, made)), kUnknownAncestor) << leaf;
  }
}

TEST(Lineage, WeakDigest_NamesNothing) {
  Made made = valid_lineage();
  const std::string weak = "sha1:0123456789012345678901234567890123456789";
  made[0].inputs[0].digests = {weak};
  made[1].subjects[0].digest = weak;
  EXPECT_EQ(brief(judge_lineage({}, made)), kUnknownAncestor);
  LineageCondition condition;
  condition.leaves = {"sha1:0123*"};
  EXPECT_EQ(brief(judge_lineage(condition, made)), kPassed);
  condition.deny.digests = {weak};
  EXPECT_EQ(brief(judge_lineage(condition, made)), kDenied);
}

// One of the two may be anything.
TEST(Lineage, EachDigestOfAnInput_MustBeKnown) {
  Made made = valid_lineage();
  made[0].inputs[0].digests.push_back(digest_of("something else"));
  EXPECT_EQ(brief(judge_lineage({}, made)), kUnknownAncestor);
  made[1].subjects.push_back({digest_of("something else"), {"acme/corpus"}});
  std::sort(made[1].subjects.begin(), made[1].subjects.end(),
            [](const auto& a, const auto& b) { return a.digest < b.digest; });
  EXPECT_EQ(brief(judge_lineage({}, made)), kPassed);
}

TEST(Lineage, InputWithoutDigest_IsUnknown) {
  Made made = valid_lineage();
  made[0].inputs.push_back({"code", "git+https://example.com/code", {}});
  EXPECT_EQ(brief(judge_lineage({}, made)), kUnknownAncestor);
  // A name alone may be anything.
  made[0].inputs.back().name = "acme/code";
  LineageCondition condition;
  condition.leaves = {"acme/code"};
  EXPECT_EQ(brief(judge_lineage(condition, made)), kUnknownAncestor);
  made[0].inputs.back().digests = {"gitCommit:0123456789012345678901234567890123456789"};
  EXPECT_EQ(brief(judge_lineage(condition, made)), kPassed);
}

TEST(Lineage, LeafName_LeadsNotOutOfItself) {
  Made made = valid_lineage();
  made.pop_back();
  LineageCondition condition;
  condition.leaves = {"mistralai/*"};
  for (const auto& [name, judged] :
       {std::pair("mistralai/x", kPassed), std::pair("mistralai/../leaked/x", kUnknownAncestor),
        std::pair("mistralai/x%zz", kUnknownAncestor)}) {
    made[0].inputs[0].name = name;
    EXPECT_EQ(brief(judge_lineage(condition, made)), judged) << name;
  }
}

TEST(Lineage, InputThatCouldNotBeRead_IsUnknown) {
  Made made = valid_lineage();
  made[0].unread = true;
  EXPECT_EQ(brief(judge_lineage({}, made)), kUnknownAncestor);
}

TEST(Lineage, RolesThatAreNotFollowed_NeedNotBeKnown) {
  Made made = valid_lineage();
  made[0].inputs.push_back(input("code", "code", "acme/code"));
  EXPECT_EQ(brief(judge_lineage({}, made)), kUnknownAncestor);
  LineageCondition condition;
  condition.roles = {"dataset", "base-model", "adapter"};
  EXPECT_EQ(brief(judge_lineage(condition, made)), kPassed);
  // What has no role may have been anything.
  made[0].inputs.back().role = kDependencyRole;
  EXPECT_EQ(brief(judge_lineage(condition, made)), kUnknownAncestor);
}

TEST(Lineage, UnknownFarAway_IsAnError) {
  Made made = merged();
  made.erase(made.begin() + 1);
  EXPECT_EQ(brief(judge_lineage({}, made)), kUnknownAncestor);
}

// --- whose word counts

TEST(Lineage, RevokedKey_WithdrawsWhatItMade) {
  for (const std::size_t which : {0U, 1U}) {
    Made made = valid_lineage();
    SignerFact& signer = made[which].fact.signers[0];
    signer.key = revoked(signer.key, now());
    EXPECT_EQ(brief(judge_lineage({}, made)), kUnknownAncestor) << which;
  }
}

TEST(Lineage, RoleMustCoverTheStage) {
  Made made = valid_lineage();
  made[1].fact.signers[0].key = maker("curator", "train");
  EXPECT_EQ(brief(judge_lineage({}, made)), kUnknownAncestor);
}

// Who may speak of names in "mallory" says under such a name what acme's dataset is.
TEST(Lineage, ForeignNameSpace_MakesNothingKnown) {
  Made made = valid_lineage();
  made[1].subjects[0].names = {"mallory/corpus"};
  made[1].fact.signers[0].key = signer("mallory-1", "mallory", "collect", {}, "mallory");
  EXPECT_EQ(brief(judge_lineage({}, made)), kUnknownAncestor);
  made[0].inputs[0].name = "mallory/corpus";  // the trainer says that this is what was used
  EXPECT_EQ(brief(judge_lineage({}, made)), kPassed);
}

TEST(Lineage, UnnamedInput_TakesItsNameFromManifests) {
  Made made = valid_lineage();
  made[0].inputs[0].name.clear();
  EXPECT_EQ(brief(judge_lineage({}, made)), kUnknownAncestor);
  made.push_back(joins(10, {digest_of("corpus")}, "acme/corpus", {publisher("bob-1", "bob")}));
  EXPECT_EQ(brief(judge_lineage({}, made)), kPassed);
  made.back().fact.signers[0].key = revoked(made.back().fact.signers[0].key, now());
  EXPECT_EQ(brief(judge_lineage({}, made)), kUnknownAncestor);
}

TEST(Lineage, SignatureFromTheFuture_IsUndecided) {
  Made made = valid_lineage();
  made[1].fact.signers[0].signed_at = from_now(60);
  EXPECT_EQ(judge_lineage({}, made).outcome, Outcome::kError);
}

// --- joins

TEST(Lineage, DigestsAreJoinedByATrustedManifestOnly) {
  Made made = valid_lineage();
  made[1].subjects[0].digest = tree_of("corpus in another form");
  EXPECT_EQ(brief(judge_lineage({}, made)), kUnknownAncestor);
  made.push_back(joins(10, {digest_of("corpus"), tree_of("corpus in another form")}, "acme/corpus",
                       {publisher("bob-1", "bob")}));
  EXPECT_EQ(brief(judge_lineage({}, made)), kPassed);
  // Not by one of somebody who may not publish under that name.
  made.back().fact.signers[0].key = publisher("bob-1", "bob", "other");
  EXPECT_EQ(brief(judge_lineage({}, made)), kUnknownAncestor);
}

// A statement names two digests: that joins nothing.
TEST(Lineage, StatementAboutTwoDigests_JoinsNothing) {
  Made made = valid_lineage();
  made.push_back(
      about(10, "collect", digest_of("clean"), "acme/clean", {}, {maker("curator", "collect")}));
  made[1] =
      about(11, "evaluate", digest_of("corpus"), "acme/corpus", {}, {maker("curator", "evaluate")});
  made[1].subjects.push_back({digest_of("clean"), {"acme/clean"}});
  std::sort(made[1].subjects.begin(), made[1].subjects.end(),
            [](const auto& a, const auto& b) { return a.digest < b.digest; });
  EXPECT_EQ(brief(judge_lineage({}, made)), kUnknownAncestor);
}

// --- what cannot be

TEST(Lineage, OwnParent_IsACycle) {
  Made made = valid_lineage();
  made[0].inputs.push_back({"base-model", "acme/demo", {artifact().text()}});
  EXPECT_EQ(brief(judge_lineage({}, made)), (Judgement{Outcome::kError, Reason::kLineageCycle}));
}

TEST(Lineage, LongCycle_IsNamed) {
  Made made = merged();
  made[2].inputs.push_back(input("adapter", "adapter", "acme/adapter"));
  const ConditionResult result = judge_lineage({}, made);
  EXPECT_EQ(brief(result), (Judgement{Outcome::kError, Reason::kLineageCycle}));
  EXPECT_GE(result.actual["cycle"].size(), 2U);
  EXPECT_EQ(judge_not({}, facts_with(made)).outcome, Outcome::kError);
}

TEST(Lineage, LimitThatWasReached_IsAnError) {
  const ConditionResult result =
      judge_alone(LineageCondition{}, facts_with(valid_lineage(), {"statements"}));
  EXPECT_EQ(brief(result), (Judgement{Outcome::kError, Reason::kLineageIncomplete}));
  EXPECT_EQ(result.actual["reached"], Json::array({"statements"}));
}

// --- deny

TEST(Lineage, DeniedAncestor_FailsAtEveryDistance) {
  LineageCondition condition;
  condition.deny.digests = {digest_of("corpus")};
  const ConditionResult result = judge_lineage(condition, merged());
  EXPECT_EQ(brief(result), kDenied);
  EXPECT_EQ(result.actual["denied"][0]["by"], "digest");
  condition.deny.digests = {digest_of("another")};
  EXPECT_EQ(brief(judge_lineage(condition, merged())), kPassed);
}

TEST(Lineage, DeniedByName_WhoeverGaveIt) {
  LineageCondition condition;
  condition.deny.names = {"*/corpus"};
  EXPECT_EQ(brief(judge_lineage(condition, merged())), kDenied);
  Made made = valid_lineage();
  condition.deny.names = {"leaked/*"};
  EXPECT_EQ(brief(judge_lineage(condition, made)), kPassed);
  made.push_back(joins(10, {digest_of("corpus")}, "leaked/mails",
                       {revoked(publisher("bob-1", "bob", "leaked"), now())}));
  EXPECT_EQ(brief(judge_lineage(condition, made)), kDenied);
}

TEST(Lineage, DeniedByName_InAnySpelling) {
  LineageCondition condition;
  condition.deny.names = {"Leaked/*", "https://leaked.example/*"};
  for (const char* name :
       {"leaked/mails", "LEAKED/mails", "leaked//mails", "/leaked/mails", "./leaked/mails",
        "acme/../leaked/mails", "leaked%2fmails", "leaked%2Fm%61ils",
        "https://leaked.example/mails", "HTTPS://leaked.example//mails"}) {
    Made made = valid_lineage();
    made[0].inputs[0].name = name;
    EXPECT_EQ(brief(judge_lineage(condition, made)), kDenied) << name;
    made = valid_lineage();
    made[0].inputs[0].also = {name};
    EXPECT_EQ(brief(judge_lineage(condition, made)), kDenied) << name;
  }
  // One that can be read in two ways is an error, where names are denied.
  Made made = valid_lineage();
  made[0].inputs[0].also = {"acme%zz"};
  EXPECT_EQ(brief(judge_lineage(condition, made)), kUnknownAncestor);
  EXPECT_EQ(brief(judge_lineage({}, made)), kPassed);
  made[0].inputs[0].also = {"https://example.com/leaked/mails"};
  EXPECT_EQ(brief(judge_lineage(condition, made)), kPassed);
}

TEST(Lineage, DeniedByAnotherDigestOfTheSameSubject) {
  const std::string weak = "sha1:0123456789012345678901234567890123456789";
  Made made = valid_lineage();
  LineageCondition condition;
  condition.deny.digests = {weak};
  made[1].together = {{digest_of("corpus"), weak}};
  EXPECT_EQ(brief(judge_lineage(condition, made)), kDenied);
  made[1].together = {{digest_of("something else"), weak}};
  EXPECT_EQ(brief(judge_lineage(condition, made)), kPassed);
  // Not by the word of a stranger.
  made.push_back(about(30, "collect", digest_of("corpus"), "mallory/x", {},
                       {signer("m", "mallory", "collect", {}, "mallory")}));
  made.back().together = {{digest_of("corpus"), weak}};
  EXPECT_EQ(brief(judge_lineage(condition, made)), kPassed);
}

TEST(Lineage, DeniedKeyOrPerson) {
  LineageCondition condition;
  condition.deny.identities = {"tuner"};
  EXPECT_EQ(brief(judge_lineage(condition, merged())), kDenied);
  condition.deny.identities.clear();
  condition.deny.keys = {maker("tuner", "finetune").id.text()};
  EXPECT_EQ(brief(judge_lineage(condition, merged())), kDenied);
  EXPECT_EQ(brief(judge_lineage(condition, valid_lineage())), kPassed);
}

TEST(Lineage, DeniedArtifactItself_Fails) {
  LineageCondition condition;
  condition.deny.digests = {artifact().text()};
  EXPECT_EQ(brief(judge_lineage(condition, valid_lineage())), kDenied);
}

// `not` of a deny list: the lineage must contain what it names.
TEST(Lineage, NotDenied_TurnsOnlyWhatWasFound) {
  LineageCondition condition;
  condition.deny.digests = {digest_of("corpus")};
  EXPECT_EQ(judge_not(condition, facts_with(valid_lineage())).outcome, Outcome::kPass);
  condition.deny.digests = {digest_of("another")};
  EXPECT_EQ(judge_not(condition, facts_with(valid_lineage())).outcome, Outcome::kFail);
  Made made = valid_lineage();
  made[0].inputs.push_back(input("dataset", "unheard of", "acme/more"));
  condition.deny.digests = {digest_of("corpus")};
  EXPECT_EQ(brief(judge_lineage(condition, made)), kDenied);
  EXPECT_EQ(judge_not(condition, facts_with(made)).outcome, Outcome::kError);
}

}  // namespace
}  // namespace assay::policy::test
