// SPDX-License-Identifier: Apache-2.0
// The lineage condition: whose manifests say that two digests are one thing, and what things are
// called. A stranger may publish under names of his own, and nothing that he publishes changes what
// is known of the things of others.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/policy/lineage/lineage_fixture.h"

namespace assay::policy::test {
namespace {

const Judgement kUnknownAncestor{Outcome::kError, Reason::kAncestorUnknown};
const Judgement kDenied{Outcome::kFail, Reason::kAncestorDenied};

TrustedKey stranger() { return publisher("mallory-1", "mallory", "mallory"); }
TrustedKey own() { return publisher("bob-1", "bob", "acme"); }

// A manifest under a name of the stranger, or of the model's own people.
LineageStatement by_stranger(std::uint64_t number, std::vector<std::string> digests) {
  return joins(number, std::move(digests), "mallory/x", {stranger()});
}
LineageStatement by_own(std::uint64_t number, std::vector<std::string> digests) {
  return joins(number, std::move(digests), "acme/x", {own()});
}

ConditionResult judge_asking_for(const std::vector<std::string>& publishers,
                                 const LineageCondition& asked, const Made& made) {
  return decide(policy_with({condition("it", asked), manifest_condition({1, publishers})}),
                facts_with(made))
      .policies.front()
      .conditions.front();
}

// valid_lineage(), but the dataset was collected as a tree and used by its plain digest.
Made used_in_another_form() {
  Made made = valid_lineage();
  made[1].subjects[0].digest = tree_of("corpus");
  return made;
}

TEST(LineageJoins, OfAStranger_MakeNothingKnown) {
  Made made = used_in_another_form();
  made.push_back(by_stranger(30, {digest_of("corpus"), tree_of("corpus")}));
  EXPECT_EQ(brief(judge_lineage({}, made)), kUnknownAncestor);
  made.back() = by_own(30, {digest_of("corpus"), tree_of("corpus")});
  EXPECT_EQ(brief(judge_lineage({}, made)), kPassed);
}

// The other side is another team's: its own statements call it by a name that is not the
// stranger's.
TEST(LineageJoins, BorrowNothingFromAThingOfOthers) {
  Made made = valid_lineage();
  made[0].subjects[0].digest = digest_of("good");
  made[0].subjects[0].names = {"acme/demo"};
  EXPECT_EQ(brief(judge_lineage({}, made)), kUnknownAncestor) << "nobody made the model";
  made.push_back(by_stranger(30, {digest_of("good"), artifact().text()}));
  EXPECT_EQ(brief(judge_lineage({}, made)), kUnknownAncestor);
  made.back() = by_own(30, {digest_of("good"), artifact().text()});
  EXPECT_EQ(brief(judge_lineage({}, made)), kPassed);
}

TEST(LineageJoins, OfAStranger_DenyNothingAndMakeNoCycle) {
  LineageCondition condition;
  condition.deny.digests = {tree_of("leaked")};
  for (const auto& [from, to] : {std::pair(digest_of("corpus"), tree_of("leaked")),
                                 std::pair(digest_of("corpus"), artifact().text())}) {
    Made made = valid_lineage();
    made.push_back(by_stranger(30, {from, to}));
    EXPECT_EQ(brief(judge_lineage(condition, made)), kPassed) << to;
    made.back() = by_own(30, {from, to});
    EXPECT_NE(brief(judge_lineage(condition, made)), kPassed) << to;
  }
}

// Publishers whom the policy's manifest condition does not name join nothing, whatever their roles.
TEST(LineageJoins, CountOnlyByPublishersWhomThePolicyAsksFor) {
  Made made = used_in_another_form();
  made.push_back(by_own(30, {digest_of("corpus"), tree_of("corpus")}));
  EXPECT_EQ(brief(judge_asking_for({"alice", "bob"}, {}, made)), kPassed);
  EXPECT_EQ(brief(judge_asking_for({"alice"}, {}, made)), kUnknownAncestor);
}

TEST(LineageJoins, CountNotInAPolicyWithoutManifestCondition) {
  Made made = used_in_another_form();
  for (LineageStatement& one : made) {
    one.fact.signers[0].key = signer("any", "any", "*", {}, "*");
  }
  made.push_back(by_own(30, {digest_of("corpus"), tree_of("corpus")}));
  EXPECT_EQ(brief(judge_lineage({}, made)), kPassed);
  const PolicyDocument policy = policy_with({condition("it", LineageCondition{})});
  const auto judge = [&] {
    return brief(decide(policy, facts_with(made)).policies.front().conditions.front());
  };
  EXPECT_EQ(judge(), kUnknownAncestor);
  made[1].subjects[0].digest = digest_of("corpus");
  EXPECT_EQ(judge(), kPassed);
}

TEST(LineageJoins, TwoTrees_AreNeverOneThing) {
  Made made = valid_lineage();
  made[0].inputs[0].digests = {tree_of("bad")};
  made[1].subjects[0].digest = tree_of("corpus");
  // In one manifest.
  made.push_back(by_own(30, {tree_of("bad"), tree_of("corpus")}));
  EXPECT_EQ(brief(judge_lineage({}, made)), kUnknownAncestor);
  // Through a third digest.
  made.back() = by_own(30, {tree_of("bad"), digest_of("third")});
  made.push_back(by_own(31, {tree_of("corpus"), digest_of("third")}));
  EXPECT_EQ(brief(judge_lineage({}, made)), kUnknownAncestor);
  // What is said of one of them is denied of the other all the same.
  LineageCondition condition;
  condition.deny.digests = {tree_of("corpus")};
  EXPECT_EQ(brief(judge_lineage(condition, made)), kDenied);
}

TEST(LineageJoins, DigestsThatDisagree_JoinNothing) {
  Made made = used_in_another_form();
  made.push_back(by_own(30, {digest_of("corpus"), tree_of("corpus")}));
  EXPECT_EQ(brief(judge_lineage({}, made)), kPassed);
  made.push_back(by_own(31, {digest_of("other bytes"), tree_of("corpus")}));
  EXPECT_EQ(brief(judge_lineage({}, made)), kUnknownAncestor);
}

// --- names

TEST(LineageNames, OfManifests_MakeNoLeaf) {
  Made made = valid_lineage();
  made.pop_back();  // nobody collected the dataset
  LineageCondition condition;
  condition.leaves = {"mallory/*"};
  made.push_back(by_stranger(30, {digest_of("corpus")}));
  EXPECT_EQ(brief(judge_lineage(condition, made)), kUnknownAncestor);
  made[0].inputs[0].name = "mallory/x";  // the trainer says so
  EXPECT_EQ(brief(judge_lineage(condition, made)), kPassed);
}

TEST(LineageNames, OfTheModel_MakeItNoLeaf) {
  LineageCondition condition;
  condition.leaves = {"acme/*", "mallory/*"};
  Made made = {by_stranger(30, {artifact().text()})};
  EXPECT_EQ(brief(judge_lineage(condition, made)), kUnknownAncestor);
  condition.leaves = {artifact().text()};
  EXPECT_EQ(brief(judge_lineage(condition, made)), kPassed);
}

TEST(LineageNames, OfAStranger_CountNotForAnInputWithoutName) {
  Made made = valid_lineage();
  made[0].inputs[0].name.clear();
  made[1].subjects[0].names = {"mallory/corpus"};
  made[1].fact.signers[0].key = signer("m", "mallory", "collect", {}, "mallory");
  made.push_back(by_stranger(30, {digest_of("corpus")}));
  EXPECT_EQ(brief(judge_asking_for({"alice"}, {}, made)), kUnknownAncestor);
  EXPECT_EQ(brief(judge_asking_for({"alice", "mallory"}, {}, made)), kPassed);
  // Somebody else calls it by its name: then the stranger has no say.
  made[0].inputs.push_back(input("dataset", "corpus", "acme/corpus"));
  EXPECT_EQ(brief(judge_asking_for({"alice", "mallory"}, {}, made)), kUnknownAncestor);
}

}  // namespace
}  // namespace assay::policy::test
