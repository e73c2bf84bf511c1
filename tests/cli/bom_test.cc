// SPDX-License-Identifier: Apache-2.0
// What a bill of materials takes from which statement, and what signers of other names add to it.
#include <gtest/gtest.h>

#include "cli/bom/trace.h"
#include "cli/bom/write.h"
#include "schemas/lifecycle.h"

namespace assay::bom {
namespace {

std::string hex(char digit) { return std::string(64, digit); }
Digests tree(char digit) { return {{"assay-tree-v1-sha256", hex(digit)}}; }
Digests bytes(char digit) { return {{"sha256", hex(digit)}}; }

// A statement of a stage about a thing, made from others.
BomStatement state(const std::string& stage, Subject subject, std::vector<LifecycleInput> inputs,
                   Json parameters = Json::object()) {
  Lifecycle lifecycle;
  lifecycle.stage = stage;
  lifecycle.inputs = std::move(inputs);
  lifecycle.parameters = std::move(parameters);
  Statement statement = to_statement(lifecycle, {std::move(subject)}).value();
  return {stage + statement.subjects.front().name, std::move(statement), {{"somebody", "key"}}};
}

// What joins digests under a name. Its entries do not matter here.
BomStatement joins(const std::string& name, Digests digests) {
  return {"manifest " + name,
          {{{name, std::move(digests)}}, "https://assay.dev/merkle-manifest/v1", Json::object()},
          {{"somebody", "key"}}};
}

Trace traced(std::vector<BomStatement> statements) {
  return trace("acme/model", ArtifactId::parse("assay-tree-v1-sha256:" + hex('1')).value(),
               statements)
      .value();
}

const Thing* find(const Trace& trace, const std::string& name) {
  for (const Thing& thing : trace.things) {
    if (!thing.names.empty() && thing.names.front() == name) {
      return &thing;
    }
  }
  return nullptr;
}

const Subject kModel{"acme/model", tree('1')};
const LifecycleInput kCorpus{"dataset", "acme/corpus", tree('2')};
const LifecycleInput kBought{"dataset", "mallory/data", tree('3')};

TEST(BomTrace, FollowsInputs) {
  const Trace got = traced({state("train", kModel, {kCorpus}),
                            state("preprocess", {"acme/corpus", tree('2')},
                                  {{"dataset", "acme/raw", bytes('4')}}, {{"license", "MIT"}})});
  ASSERT_EQ(got.things.size(), 3U);
  EXPECT_EQ(got.things[0].made_from, std::vector<std::size_t>{1});
  EXPECT_EQ(got.things[1].made_from, std::vector<std::size_t>{2});
  EXPECT_EQ(got.things[1].licences, std::vector<std::string>{"MIT"});
  EXPECT_TRUE(got.things[1].known);
  EXPECT_FALSE(got.things[2].known);
}

TEST(BomTrace, AnotherNameForTheSameBytes_AddsNothing) {
  const Trace got = traced({state("train", {"mallory/x", tree('1')}, {kCorpus})});
  EXPECT_EQ(got.things.size(), 1U);
  EXPECT_TRUE(got.things[0].statements.empty());
}

// Somebody made a dataset that went in, and says that the model went into the dataset under a name
// of theirs.
TEST(BomTrace, SupplierDoesNotNameTheModel) {
  const Trace got = traced(
      {state("train", kModel, {kBought}),
       state("preprocess", {"mallory/data", tree('3')}, {{"dataset", "mallory/x", tree('1')}}),
       state("evaluate", {"mallory/x", tree('1')}, {})});
  EXPECT_EQ(got.things[0].names, std::vector<std::string>{"acme/model"});
  EXPECT_EQ(got.things[0].statements.size(), 1U);
}

TEST(BomTrace, SupplierDoesNotNameWhatElseWentIn) {
  const Trace got = traced(
      {state("train", kModel, {kCorpus, kBought}),
       state("preprocess", {"mallory/data", tree('3')}, {{"dataset", "mallory/y", tree('2')}}),
       state("collect", {"mallory/y", tree('2')}, {}, {{"license", "MIT"}})});
  const Thing* corpus = find(got, "acme/corpus");
  ASSERT_NE(corpus, nullptr);
  EXPECT_FALSE(corpus->known);
  EXPECT_EQ(corpus->names.size(), 1U);
}

TEST(BomTrace, ManifestJoinsDigestsOfItsName) {
  Digests both = tree('2');
  both.merge(bytes('5'));
  const Trace got =
      traced({state("train", kModel, {{"dataset", "acme/corpus", bytes('5')}}),
              joins("acme/corpus", both), state("collect", {"acme/corpus", tree('2')}, {})});
  ASSERT_EQ(got.things.size(), 2U);
  EXPECT_EQ(got.things[1].digests, both);
  EXPECT_TRUE(got.things[1].known);
}

TEST(BomTrace, ManifestDoesNotJoinThingsOfOtherNames) {
  Digests both = tree('3');
  both.merge(bytes('5'));
  const Trace got = traced(
      {joins("mallory/data", both), state("train", kModel, {kBought}),
       state("preprocess", {"mallory/data", tree('3')}, {{"dataset", "acme/corpus", bytes('5')}})});
  EXPECT_EQ(got.things.size(), 3U);
}

TEST(BomTrace, DigestsThatDisagree_AreTwoThings) {
  Digests one = tree('2');
  one.merge(bytes('5'));
  Digests other = tree('6');
  other.merge(bytes('5'));
  const Trace got =
      traced({state("train", kModel, {{"dataset", "acme/a", one}, {"dataset", "acme/b", other}})});
  EXPECT_EQ(got.things.size(), 3U);
}

TEST(BomTrace, InputsWithoutStrongDigest_AreOneByNameAndDigest) {
  const LifecycleInput weak{"code", "acme/code", {{"sha1", std::string(40, 'a')}}};
  LifecycleInput other = weak;
  other.name = "acme/other";
  EXPECT_EQ(traced({state("train", kModel, {weak, weak, other})}).things.size(), 3U);
}

TEST(BomTrace, CycleEnds) {
  const Trace got =
      traced({state("train", kModel, {kCorpus}), state("preprocess", {"acme/corpus", tree('2')},
                                                       {{"dataset", "acme/model", tree('1')}})});
  EXPECT_EQ(got.things.size(), 2U);
}

TEST(BomTrace, TooManyThings) {
  std::vector<BomStatement> statements;
  for (std::size_t i = 0; i < 40; ++i) {
    std::vector<LifecycleInput> inputs;
    for (std::size_t j = 0; j < 50; ++j) {
      inputs.push_back(
          {"dataset", "acme/" + std::to_string(i * 50 + j), {{"sha1", hex('a').substr(24)}}});
    }
    statements.push_back(state("train", kModel, std::move(inputs)));
  }
  const auto got = trace("acme/model",
                         ArtifactId::parse("assay-tree-v1-sha256:" + hex('1')).value(), statements);
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().code, ErrorCode::kLimitExceeded);
}

TEST(BomHashes, RoundTrip) {
  const Digests digests = {
      {"sha256", hex('a')}, {"blake3", hex('b')}, {"md5", std::string(32, 'c')}};
  EXPECT_EQ(read_hashes(hashes_of(digests)).value(), digests);
  EXPECT_EQ(main_digest(digests), "sha256:" + hex('a'));
  EXPECT_EQ(main_digest({{"sha1", std::string(40, 'a')}}), "");
}

}  // namespace
}  // namespace assay::bom
