// SPDX-License-Identifier: Apache-2.0
// The lineage as people look at it: whose manifests join digests there. Nothing that a stranger
// publishes makes what is missing look known, or takes something out of the picture.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/policy/lineage/lineage_fixture.h"

namespace assay::policy::test {
namespace {

TrustedKey own() { return publisher("bob-1", "bob", "acme"); }
TrustedKey stranger() { return publisher("mallory-1", "mallory", "mallory"); }

LineageStatement by_own(std::uint64_t number, std::vector<std::string> digests) {
  return joins(number, std::move(digests), "acme/x", {own()});
}
LineageStatement by_stranger(std::uint64_t number, std::vector<std::string> digests) {
  return joins(number, std::move(digests), "mallory/x", {stranger()});
}

// The dataset was collected as a tree and used by its plain digest.
Made used_in_another_form() {
  Made made = valid_lineage();
  made[1].subjects[0].digest = tree_of("corpus");
  return made;
}

LineageView up(const Made& made) { return view_of(*lineage_of(made), LineageDirection::kUp, 64); }

const LineageView::Node* node_with(const LineageView& view, const std::string& digest) {
  for (const LineageView::Node& node : view.nodes) {
    if (std::find(node.digests.begin(), node.digests.end(), digest) != node.digests.end()) {
      return &node;
    }
  }
  return nullptr;
}

// Whether two digests are one thing in the picture.
bool joined(const Made& made, const std::string& one, const std::string& other) {
  const LineageView view = up(made);
  const LineageView::Node* node = node_with(view, one);
  return node != nullptr && node == node_with(view, other);
}

bool corpus_is_one(const Made& made) {
  return joined(made, digest_of("corpus"), tree_of("corpus"));
}

TEST(LineageViewJoins, OfItsOwnPublisher_MakeOneThing) {
  Made made = used_in_another_form();
  EXPECT_TRUE(node_with(up(made), digest_of("corpus"))->missing);
  made.push_back(by_own(30, {digest_of("corpus"), tree_of("corpus")}));
  EXPECT_TRUE(corpus_is_one(made));
  const LineageView view = up(made);
  EXPECT_EQ(view.nodes.size(), 2U);
  EXPECT_FALSE(node_with(view, digest_of("corpus"))->missing);
}

TEST(LineageViewJoins, OfAStranger_MakeNothingKnown) {
  Made made = used_in_another_form();
  made.push_back(by_stranger(30, {digest_of("corpus"), tree_of("corpus")}));
  EXPECT_FALSE(corpus_is_one(made));
  const LineageView view = up(made);
  EXPECT_TRUE(node_with(view, digest_of("corpus"))->missing);
  // The other one is shown by itself, without an arrow.
  ASSERT_EQ(view.nodes.size(), 3U);
  EXPECT_EQ(view.nodes[2].depth, 1U);
  ASSERT_EQ(view.edges.size(), 1U);
  EXPECT_EQ(view.nodes[view.edges[0].from].digests, std::vector<std::string>{digest_of("corpus")});
}

// One name is the stranger's: the name in the manifest, that of an input, or that of a statement
// about the other side.
TEST(LineageViewJoins, NeedAPublisherForEveryName) {
  const std::vector<std::string> both = {digest_of("corpus"), tree_of("corpus")};
  Made made = used_in_another_form();
  made.push_back(joins(30, both, "mallory/x", {own()}));
  EXPECT_FALSE(corpus_is_one(made)) << "its own name";
  made.back() = by_own(30, both);
  made[0].inputs[0].name = "mallory/corpus";
  EXPECT_FALSE(corpus_is_one(made)) << "of an input";
  made[0].inputs[0].name = "acme/corpus";
  made[1].subjects[0].names = {"mallory/corpus"};
  EXPECT_FALSE(corpus_is_one(made)) << "of what was collected";
  // One publisher must have all of them.
  made.back() = joins(30, both, "acme/x", {own(), stranger()});
  EXPECT_FALSE(corpus_is_one(made)) << "by two";
  made.back() = joins(30, both, "acme/x", {publisher("all", "ada", "*")});
  EXPECT_TRUE(corpus_is_one(made));
}

TEST(LineageViewJoins, NeedAKeyOfAPublisher_ThatWasValid) {
  const std::vector<std::string> both = {digest_of("corpus"), tree_of("corpus")};
  Made made = used_in_another_form();
  made.push_back(joins(30, both, "acme/x", {signer("s", "sue", "*", kManifestPredicateType, "*")}));
  EXPECT_FALSE(corpus_is_one(made));
  made.back() = by_own(30, both);
  made.back().fact.signers[0].key.not_after = from_now(-86'400);
  EXPECT_FALSE(corpus_is_one(made));
}

TEST(LineageViewJoins, OfRevokedKeys_AreNone) {
  Made made = used_in_another_form();
  made.push_back(by_own(30, {digest_of("corpus"), tree_of("corpus")}));
  made.back().fact.signers[0].key = revoked(own(), now());
  EXPECT_FALSE(corpus_is_one(made));
}

TEST(LineageViewJoins, OfAWithdrawnManifest_AreNone) {
  Made made = used_in_another_form();
  made.push_back(joins(30, {digest_of("corpus"), tree_of("corpus")}, "acme/x",
                       {own(), publisher("alice-1", "alice", "acme")}));
  made.back().fact.withdrawn = WithdrawnFact{"incorrect", from_now(-10), {"bob"}, false};
  EXPECT_TRUE(corpus_is_one(made)) << "alice stands behind it";
  made.back().fact.withdrawn = WithdrawnFact{"incorrect", from_now(-10), {"alice", "bob"}, false};
  EXPECT_FALSE(corpus_is_one(made));
  made.back().fact.withdrawn = WithdrawnFact{"incorrect", from_now(-10), {}, true};
  EXPECT_FALSE(corpus_is_one(made));
}

// Who took a statement back gives nothing a name by it.
TEST(LineageViewJoins, NamesOfWithdrawnStatements_DoNotMatter) {
  Made made = used_in_another_form();
  made.push_back(by_own(30, {digest_of("corpus"), tree_of("corpus")}));
  made.push_back(about(40, "train", artifact().text(), "mallory/demo",
                       {input("dataset", "corpus", "mallory/corpus")},
                       {signer("m", "mallory", "train", {}, "mallory")}));
  EXPECT_FALSE(corpus_is_one(made));
  made.back().fact.withdrawn = WithdrawnFact{"incorrect", from_now(-10), {}};
  EXPECT_TRUE(corpus_is_one(made));
}

TEST(LineageViewJoins, TwoTrees_AreNeverOneThing) {
  Made made = valid_lineage();
  made[0].inputs[0].digests = {tree_of("bad")};
  made[1].subjects[0].digest = tree_of("corpus");
  // In one manifest.
  made.push_back(by_own(30, {tree_of("bad"), tree_of("corpus"), digest_of("third")}));
  EXPECT_FALSE(joined(made, tree_of("bad"), tree_of("corpus")));
  EXPECT_FALSE(joined(made, tree_of("bad"), digest_of("third")));
  EXPECT_TRUE(node_with(up(made), tree_of("bad"))->missing);
  // Through a third digest.
  made.back() = by_own(30, {tree_of("bad"), digest_of("third")});
  EXPECT_TRUE(joined(made, tree_of("bad"), digest_of("third")));
  made.push_back(by_own(31, {tree_of("corpus"), digest_of("third")}));
  EXPECT_FALSE(joined(made, tree_of("bad"), digest_of("third")));
  EXPECT_FALSE(joined(made, tree_of("corpus"), digest_of("third")));
  EXPECT_TRUE(node_with(up(made), tree_of("bad"))->missing);
}

TEST(LineageViewJoins, DigestsThatDisagree_JoinNothing) {
  Made made = used_in_another_form();
  made.push_back(by_own(30, {digest_of("corpus"), tree_of("corpus")}));
  EXPECT_TRUE(corpus_is_one(made));
  made.push_back(by_own(31, {digest_of("other bytes"), tree_of("corpus")}));
  EXPECT_FALSE(corpus_is_one(made));
  EXPECT_FALSE(joined(made, digest_of("other bytes"), tree_of("corpus")));
  EXPECT_TRUE(node_with(up(made), digest_of("corpus"))->missing);
}

// Downwards, a join that somebody undoes must not hide what was made.
TEST(LineageViewJoins, Down_WhatIsNotJoinedIsShownAllTheSame) {
  Made made = used_in_another_form();
  made.push_back(by_own(30, {digest_of("corpus"), tree_of("corpus")}));
  const auto down = [&] {
    Lineage::Statements statements;
    for (const LineageStatement& one : made) {
      statements.push_back(std::make_shared<const LineageStatement>(one));
    }
    return view_of(*Lineage::make(tree_of("corpus"), std::move(statements)),
                   LineageDirection::kDown, 64);
  };
  ASSERT_EQ(down().nodes.size(), 2U);
  EXPECT_EQ(down().nodes[1].digests, std::vector<std::string>{artifact().text()});
  made.push_back(about(40, "train", tree_of("theirs"), "mallory/demo",
                       {input("dataset", "corpus", "mallory/corpus")},
                       {signer("m", "mallory", "train", {}, "mallory")}));
  const LineageView view = down();
  ASSERT_EQ(view.nodes.size(), 4U);
  EXPECT_EQ(view.nodes[0].digests, std::vector<std::string>{tree_of("corpus")});
  EXPECT_EQ(view.nodes[1].digests, std::vector<std::string>{digest_of("corpus")});
  EXPECT_EQ(view.nodes[1].depth, 0U);
  const LineageView::Node* model = node_with(view, artifact().text());
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(model->depth, 1U);
  EXPECT_EQ(view.edges.size(), 2U);
}

}  // namespace
}  // namespace assay::policy::test
