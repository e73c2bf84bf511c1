// SPDX-License-Identifier: Apache-2.0
// Which entries the registered tensors are: exactly, never guessed.
#include "worker/instances/match.h"

#include <gtest/gtest.h>

#include "schemas/document_size.h"
#include "tests/worker/instances/fake_owner.h"

namespace assay::worker::test {
namespace {

using Kind = Finding::Kind;

class Match : public testing::Test {
 protected:
  static InstanceTensor tensor(std::vector<std::string> names, std::uint64_t size = 4) {
    return {std::move(names), "U8", {size}, {{0, 0, size}}};
  }
  InstanceRegistration rank(std::vector<InstanceTensor> tensors, std::uint64_t number = 0,
                            std::uint64_t world = 1) const {
    return {.artifact = id_,
            .instance = "main",
            .rank = number,
            .world = world,
            .device = {},
            .pieces = {{4, PieceKind::kHost}},
            .tensors = std::move(tensors)};
  }
  TensorMatch match(const std::vector<InstanceRegistration>& ranks) const {
    std::vector<const InstanceRegistration*> all;
    for (const InstanceRegistration& rank : ranks) {
      all.push_back(&rank);
    }
    return match_tensors(manifest_.artifact, all);
  }
  static std::vector<std::pair<Kind, std::string>> kinds(const TensorMatch& match) {
    std::vector<std::pair<Kind, std::string>> list;
    for (const Finding& finding : match.findings) {
      list.emplace_back(finding.kind, finding.tensor);
    }
    return list;
  }

  Manifest manifest_ = manifest_of({{"a", Bytes(4)}, {"b", Bytes(4)}, {"c", Bytes(4)}});
  ArtifactId id_ = artifact_id(manifest_).value();
};

TEST_F(Match, AllTensorsByName_InAnyOrder) {
  const TensorMatch found = match({rank({tensor({"c"}), tensor({"a"}), tensor({"b"})})});
  EXPECT_TRUE(found.agrees());
  EXPECT_EQ(found.tensors, (std::vector<MatchedTensor>{{0, 0, {2}}, {0, 1, {0}}, {0, 2, {1}}}));
  EXPECT_TRUE(found.missing.empty());
}

// A size that its owner made up must not be hashed for hours.
TEST_F(Match, ATensorWithMoreBytes_IsAMismatchThatNobodyReads) {
  const TensorMatch found =
      match({rank({tensor({"a"}), tensor({"b"}, std::uint64_t{1} << 49), tensor({"c"}, 3)})});
  EXPECT_EQ(found.missing, std::vector<std::uint64_t>{1});
  EXPECT_EQ(found.tensors, (std::vector<MatchedTensor>{{0, 0, {0}}, {0, 2, {2}}}));
  EXPECT_EQ(kinds(found), (std::vector<std::pair<Kind, std::string>>{{Kind::kMismatch, "b"},
                                                                     {Kind::kMismatch, "c"}}));
}

TEST_F(Match, MissingAndExtra_AreNamed) {
  const TensorMatch found = match({rank({tensor({"a"}), tensor({"z"}, 9), tensor({"b"})})});
  EXPECT_EQ(found.missing, std::vector<std::uint64_t>{2});
  EXPECT_EQ(found.extra, (std::vector<ExtraTensor>{{"z", 9}}));
  EXPECT_EQ(found.extra_count, 1U);
  EXPECT_EQ(kinds(found), (std::vector<std::pair<Kind, std::string>>{{Kind::kExtra, "z"},
                                                                     {Kind::kMissing, "c"}}));
}

TEST_F(Match, OtherDtypeShapeOrBytes_IsAMismatch_AndStillHashed) {
  InstanceTensor dtype = tensor({"a"});
  dtype.dtype = "I8";
  InstanceTensor shape = tensor({"b"});
  shape.shape = {2, 2};
  const InstanceTensor bytes = tensor({"c"}, 3);
  const TensorMatch found = match({rank({dtype, shape, bytes})});
  EXPECT_EQ(kinds(found),
            (std::vector<std::pair<Kind, std::string>>{
                {Kind::kMismatch, "a"}, {Kind::kMismatch, "b"}, {Kind::kMismatch, "c"}}));
  EXPECT_EQ(found.tensors.size(), 3U);
  const auto& expected = std::get<TensorEntry>(manifest_.artifact.entries[1]);
  const TensorEntry entry = found_entry(expected, shape, expected.root);
  EXPECT_EQ(entry.shape, (std::vector<std::uint64_t>{2, 2}));
  EXPECT_EQ(entry.file, expected.file);
  EXPECT_EQ(entry.offset, expected.offset);
}

// Tied weights: one storage under several names.
TEST_F(Match, OneOfSeveralNamesIsEnough_AndEachThatIsThereMustAgree) {
  EXPECT_TRUE(match({rank({tensor({"x", "a"}), tensor({"b"}), tensor({"c"})})}).agrees());
  const TensorMatch both = match({rank({tensor({"c", "a"}), tensor({"b"})})});
  EXPECT_TRUE(both.agrees());
  EXPECT_EQ(both.tensors.at(0).entries, (std::vector<std::uint64_t>{0, 2}));
  EXPECT_FALSE(
      match({rank({tensor({"x", "y"}), tensor({"a"}), tensor({"b"}), tensor({"c"})})}).agrees());
  manifest_ = manifest_of({{"a", Bytes(4)}, {"b", Bytes(4)}, {"c", Bytes(5)}});
  EXPECT_EQ(kinds(match({rank({tensor({"c", "a"}), tensor({"b"})})})),
            (std::vector<std::pair<Kind, std::string>>{{Kind::kMismatch, "c"}}));
}

TEST_F(Match, RanksCoverTheEntriesTogether_EachEntryOnce) {
  EXPECT_TRUE(
      match({rank({tensor({"a"})}, 0, 2), rank({tensor({"b"}), tensor({"c"})}, 1, 2)}).agrees());
  const TensorMatch twice = match(
      {rank({tensor({"a"}), tensor({"b"})}, 0, 2), rank({tensor({"b"}), tensor({"c"})}, 1, 2)});
  EXPECT_EQ(kinds(twice), (std::vector<std::pair<Kind, std::string>>{{Kind::kExtra, "b"}}));
  EXPECT_EQ(twice.extra_count, 1U);
}

// Processes that hold the experts of the longest manifest between them.
TEST_F(Match, TensorsOfTheLongestManifest_AreMatched) {
  constexpr std::uint64_t kRanks = 2;
  const Digest root = root_of(manifest_.artifact.entries.front());
  manifest_.artifact.entries.clear();
  std::vector<InstanceRegistration> ranks;
  for (std::uint64_t number = 0; number < kRanks; ++number) {
    ranks.push_back(rank({}, number, kRanks));
  }
  for (std::uint64_t i = 0; i < kMaxManifestEntries; ++i) {
    const std::string name = "model.layers.0.mlp.experts." + std::to_string(i) + ".weight";
    manifest_.artifact.entries.emplace_back(
        TensorEntry{name, "U8", {4}, "m.safetensors", 8 + 4 * i, 4, root});
    ranks[i % kRanks].tensors.push_back(tensor({name}));
  }
  sort_entries(manifest_.artifact.entries);
  const TensorMatch found = match(ranks);
  EXPECT_TRUE(found.agrees());
  EXPECT_EQ(found.tensors.size(), kMaxManifestEntries);
  ranks[0].tensors.pop_back();
  EXPECT_EQ(match(ranks).missing.size(), 1U);
}

TEST_F(Match, FileEntriesAreNotExpectedInMemory) {
  manifest_.artifact.entries.insert(
      manifest_.artifact.entries.begin(),
      FileEntry{"config.json", 2, root_of(manifest_.artifact.entries.front())});
  const TensorMatch found = match({rank({tensor({"a"}), tensor({"b"}), tensor({"c"})})});
  EXPECT_TRUE(found.agrees());
  EXPECT_EQ(found.tensors.at(0).entries, std::vector<std::uint64_t>{1});
}

TEST_F(Match, ManyFindings_AreCut_AndStillNoAgreement) {
  std::vector<InstanceTensor> tensors;
  for (int i = 0; i < 3000; ++i) {
    tensors.push_back(tensor({"t" + std::to_string(i)}));
  }
  const TensorMatch found = match({rank(std::move(tensors))});
  EXPECT_EQ(found.findings.size(), kMaxFindings);
  EXPECT_EQ(found.extra.size(), kMaxExtraTensors);
  EXPECT_EQ(found.extra_count, 3000U);
  EXPECT_EQ(found.missing.size(), 3U);
}

TEST_F(Match, ExtraTensorsWithLongNames_AreCountedToo) {
  std::vector<InstanceTensor> tensors;
  for (int i = 0; i < 900; ++i) {
    tensors.push_back(tensor({std::string(1000, 't') + std::to_string(i)}));
  }
  const TensorMatch found = match({rank(std::move(tensors))});
  EXPECT_GT(found.extra.size(), 200U);
  EXPECT_LT(found.extra.size(), 256U);
  EXPECT_EQ(found.extra_count, 900U);
}

TEST_F(Match, RanksAreThereAllAndOnceAndAgree) {
  const auto code = [&](const std::vector<InstanceRegistration>& ranks) {
    std::vector<const InstanceRegistration*> all;
    for (const InstanceRegistration& rank : ranks) {
      all.push_back(&rank);
    }
    const Status status = check_ranks(id_, all);
    return status ? "" : std::string(info(status.error().code).code);
  };
  EXPECT_EQ(code({rank({}, 0, 1)}), "");
  EXPECT_EQ(code({rank({}, 0, 2), rank({}, 1, 2)}), "");
  EXPECT_EQ(code({}), "not-found");
  EXPECT_EQ(code({rank({}, 0, 2)}), "not-found");
  EXPECT_EQ(code({rank({}, 1, 2)}), "not-found");
  EXPECT_EQ(code({rank({}, 0, 2), rank({}, 0, 2)}), "conflict");
  EXPECT_EQ(code({rank({}, 0, 2), rank({}, 1, 3)}), "conflict");
  InstanceRegistration other = rank({}, 0, 1);
  other.artifact = artifact_id(manifest_of({{"a", Bytes(5)}})).value();
  EXPECT_EQ(code({other}), "conflict");
}

}  // namespace
}  // namespace assay::worker::test
