// SPDX-License-Identifier: Apache-2.0
// Artifacts: ids against vectors, and everything that a reader of entries refuses.
#include "schemas/core/artifact.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "schemas/core/merkle.h"
#include "schemas/core/sha.h"
#include "tests/support/cut_file.h"
#include "tests/support/vectors.h"

namespace assay {
namespace {

using test::code_of;
using test::where_of;

Digest root_of(const char* text) { return sha256(as_bytes(text)); }

// One valid artifact; each test changes one thing.
Artifact sample() {
  const TensorEntry first{"t1", "F32", {2, 3}, "b.safetensors", 60, 24, root_of("t1")};
  const TensorEntry second{"t2", "U8", {}, "b.safetensors", 84, 1, root_of("t2")};
  Artifact artifact;
  artifact.entries = {
      FileEntry{"a.bin", 9000, root_of("a")},
      test::cut_file("b.safetensors", 85, {CutFormat::kSafetensors, 60, root_of("header")},
                     {first, second}),
      first, second};
  return artifact;
}

Result<Artifact> read(const Json& entries, const TreeParameters& parameters) {
  Artifact artifact{parameters, {}};
  for (const Json& item : entries) {
    ASSAY_ASSIGN(Entry entry, entry_from_json(item, parameters.hash));
    artifact.entries.push_back(std::move(entry));
  }
  ASSAY_TRY(check(artifact));
  return artifact;
}

TEST(Artifact, Vectors_GiveLeavesRootAndId) {
  const Json vectors = test::load_vectors("artifact.json");
  ASSERT_GE(vectors["artifacts"].size(), 30U);
  for (const Json& row : vectors["artifacts"]) {
    const auto parameters = tree_parameters_from_json(row["parameters"]);
    ASSERT_TRUE(parameters) << row["name"] << to_string(parameters.error());
    const auto artifact = read(row["entries"], *parameters);
    ASSERT_TRUE(artifact) << row["name"] << to_string(artifact.error());
    const auto leaves = artifact_leaves(*artifact);
    ASSERT_TRUE(leaves);
    ASSERT_EQ(leaves->size(), row["leaf_hashes"].size());
    for (std::size_t i = 0; i < leaves->size(); ++i) {
      EXPECT_EQ((*leaves)[i].hex(), row["leaf_hashes"][i].get<std::string>());
    }
    EXPECT_EQ(artifact_id(*artifact)->text(), row["id"].get<std::string>()) << row["name"];
    EXPECT_EQ(artifact_id(*artifact)->root().hex(), row["root"].get<std::string>());
  }
}

TEST(Artifact, LeafData_IsTheCanonicalEntry) {
  const Json vectors = test::load_vectors("artifact.json");
  for (const Json& row : vectors["artifacts"]) {
    const HashAlgorithm hash = *hash_algorithm_from(row["hash"].get<std::string>());
    const auto parameters = tree_parameters_from_json(row["parameters"]);
    ASSERT_TRUE(parameters) << row["name"] << to_string(parameters.error());
    EXPECT_EQ(canonical_json(to_json(*parameters)), row["leaves"][0].get<std::string>());
    for (std::size_t i = 0; i < row["entries"].size(); ++i) {
      const auto entry = entry_from_json(row["entries"][i], hash);
      ASSERT_TRUE(entry);
      EXPECT_EQ(canonical_json(to_json(*entry)), row["leaves"][i + 1].get<std::string>());
    }
  }
}

TEST(Artifact, RefusedEntries_AreRefused) {
  const Json vectors = test::load_vectors("artifact.json");
  ASSERT_GE(vectors["refused_entries"].size(), 30U);
  for (const Json& row : vectors["refused_entries"]) {
    const auto entries = parse_json(row["entries"].get<std::string>());
    EXPECT_FALSE(entries && read(*entries, {})) << row["name"];
  }
}

TEST(Artifact, Paths_AreCheckedAsInTheVectors) {
  const Json vectors = test::load_vectors("paths.json");
  ASSERT_GE(vectors["paths"].size(), 10U);
  for (const Json& row : vectors["paths"]) {
    const Bytes path = test::from_hex(row["hex"]);
    EXPECT_EQ(code_of(check_path(as_text(path))), row["want"] == "accept" ? "ok" : "invalid-path")
        << row;
  }
}

TEST(Artifact, Sample_IsValid) { EXPECT_TRUE(check(sample())); }

TEST(Artifact, AnyChange_ChangesTheId) {
  const ArtifactId id = *artifact_id(sample());
  Artifact changed = sample();
  std::get<FileEntry>(changed.entries[0]).size += 1;
  EXPECT_NE(artifact_id(changed), id);
  changed = sample();
  std::get<FileEntry>(changed.entries[0]).path = "a.bi";
  EXPECT_NE(artifact_id(changed), id);
  changed = sample();
  std::get<TensorEntry>(changed.entries[2]).dtype = "U32";
  EXPECT_NE(artifact_id(changed), id);
  changed = sample();
  std::get<FileEntry>(changed.entries[1]).cut->format = CutFormat::kGguf;
  EXPECT_NE(artifact_id(changed), id);
  changed = sample();
  changed.parameters.chunk_size = 4096;
  EXPECT_NE(artifact_id(changed), id);
}

TEST(Artifact, WrongOrderOrDuplicate_IsRefused) {
  Artifact artifact = sample();
  std::swap(artifact.entries[0], artifact.entries[1]);
  EXPECT_EQ(code_of(check(artifact)), "schema-violation");
  artifact = sample();
  artifact.entries.insert(artifact.entries.begin(), artifact.entries.front());
  EXPECT_EQ(code_of(check(artifact)), "schema-violation");
  std::reverse(artifact.entries.begin(), artifact.entries.end());
  sort_entries(artifact.entries);
  artifact.entries.erase(artifact.entries.begin());
  EXPECT_EQ(artifact, sample());
}

TEST(Artifact, TensorOutsideItsFile_IsRefused) {
  Artifact artifact = sample();
  std::get<TensorEntry>(artifact.entries[3]).offset = 85;
  EXPECT_EQ(code_of(check(artifact)), "schema-violation");
  EXPECT_EQ(where_of(check(artifact)), "b.safetensors#t2");
  EXPECT_EQ(code_of(check_some(artifact)), "schema-violation");
}

TEST(Artifact, SizesBeyondJson_AreRefused) {
  Artifact artifact = sample();
  std::get<FileEntry>(artifact.entries[0]).size = static_cast<std::uint64_t>(kMaxSafeInteger);
  EXPECT_TRUE(check(artifact));
  std::get<FileEntry>(artifact.entries[0]).size += 1;
  EXPECT_EQ(code_of(check(artifact)), "schema-violation");
  artifact = sample();
  std::get<TensorEntry>(artifact.entries[2]).offset = UINT64_MAX - 5;
  EXPECT_EQ(code_of(check(artifact)), "schema-violation");
}

TEST(Artifact, DigestOfAnotherAlgorithm_IsRefused) {
  Artifact artifact = sample();
  std::get<FileEntry>(artifact.entries[0]).root = sha(HashAlgorithm::kSha384, as_bytes("a"));
  EXPECT_EQ(code_of(check(artifact)), "invalid-digest");
  EXPECT_EQ(where_of(check(artifact)), "a.bin");
}

TEST(TreeParameters, ChunkSizes_ArePowersOfTwoInRange) {
  for (std::uint32_t size = kMinChunkSize; size <= kMaxChunkSize; size *= 2) {
    EXPECT_TRUE(check(TreeParameters{HashAlgorithm::kSha256, size})) << size;
  }
  const Json refused = test::load_vectors("tree.json")["refused_chunk_sizes"];
  ASSERT_FALSE(refused.empty());
  for (const Json& size : refused) {
    const Json json = {{"chunk_size", size}, {"hash", "sha256"}, {"tree", "assay-tree-v1"}};
    EXPECT_FALSE(tree_parameters_from_json(json)) << size;
  }
}

TEST(TreeParameters, Json_RoundTripsAndRefusesChanges) {
  const TreeParameters parameters{HashAlgorithm::kSha384, 65536};
  const Json json = to_json(parameters);
  EXPECT_EQ(tree_parameters_from_json(json), parameters);
  for (const auto& [key, value] : json.items()) {
    Json changed = json;
    changed.erase(key);
    EXPECT_EQ(code_of(tree_parameters_from_json(changed)), "schema-violation") << key;
    for (const Json& wrong : {Json(), Json(1.5), Json(-1), Json("x"), Json::array(), Json(true)}) {
      changed = json;
      changed[key] = wrong;
      EXPECT_FALSE(tree_parameters_from_json(changed)) << key << wrong;
    }
  }
  Json extra = json;
  extra["extra"] = 1;
  EXPECT_EQ(code_of(tree_parameters_from_json(extra)), "unknown-member");
  EXPECT_FALSE(tree_parameters_from_json(Json::array()));
}

TEST(TreeParameters, Refused_AsInTheVectors) {
  const Json vectors = test::load_vectors("artifact.json");
  ASSERT_GE(vectors["refused_parameters"].size(), 15U);
  for (const Json& row : vectors["refused_parameters"]) {
    const auto json = parse_json(row["parameters"].get<std::string>());
    ASSERT_TRUE(json) << row["name"];
    EXPECT_FALSE(tree_parameters_from_json(*json)) << row["name"];
  }
}

TEST(TreeParameters, IgnoreRules_AreMembersOnlyWhenTheySaySomething) {
  TreeParameters parameters;
  EXPECT_EQ(canonical_json(to_json(parameters)),
            R"({"chunk_size":16384,"hash":"sha256","tree":"assay-tree-v1"})");
  parameters.ignore = {"*.tmp", "/.git"};
  parameters.follow_symlinks = true;
  const Json json = to_json(parameters);
  EXPECT_EQ(canonical_json(json), R"({"chunk_size":16384,"follow_symlinks":true,"hash":"sha256",)"
                                  R"("ignore":["*.tmp","/.git"],"tree":"assay-tree-v1"})");
  EXPECT_EQ(tree_parameters_from_json(json), parameters);
}

// Whoever leaves out another set of files signs another artifact.
TEST(Artifact, OtherIgnoreRules_AreAnotherArtifact) {
  std::vector<ArtifactId> ids = {*artifact_id(sample())};
  for (const std::vector<std::string>& ignore :
       {std::vector<std::string>{}, {"*.py"}, {"/modeling.py"}, {"*.py", "/modeling.py"}}) {
    for (const bool follow : {false, true}) {
      Artifact other = sample();
      other.parameters.ignore = ignore;
      other.parameters.follow_symlinks = follow;
      if (other != sample()) {
        ids.push_back(*artifact_id(other));
      }
    }
  }
  ASSERT_EQ(ids.size(), 8U);
  std::ranges::sort(ids);
  EXPECT_EQ(std::ranges::adjacent_find(ids), ids.end());
}

TEST(TreeParameters, PatternsThatAreNotInOrder_HaveNoRoot) {
  Artifact artifact = sample();
  artifact.parameters.ignore = {"b", "a"};
  EXPECT_EQ(code_of(artifact_id(artifact)), "invalid-parameter");
  sort_ignore(artifact.parameters.ignore = {"b", "a", "b"});
  EXPECT_EQ(artifact.parameters.ignore, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(artifact_id(artifact));
  artifact.parameters.ignore = {""};
  EXPECT_EQ(code_of(artifact_id(artifact)), "invalid-parameter");
  artifact.parameters.ignore = {"\xFF"};
  EXPECT_EQ(code_of(artifact_id(artifact)), "invalid-parameter");
}

// Leaf 0 must stay shorter than any chunk: schemas/tree.md section 5.2.
TEST(TreeParameters, LongerThanAChunk_AreRefused) {
  TreeParameters parameters;
  for (int i = 0; i < 8; ++i) {
    parameters.ignore.push_back(std::to_string(i) + std::string(499, 'x'));
  }
  ASSERT_LE(canonical_json(to_json(parameters))->size(), kMaxParametersBytes);
  EXPECT_TRUE(check(parameters));
  parameters.ignore.push_back("9");
  EXPECT_EQ(code_of(check(parameters)), "limit-exceeded");
}

TEST(Objects, OfEntries_AreWhatTheirEndsAre) {
  const std::vector<Entry> both = sample().entries;
  EXPECT_EQ(objects_of(both), Objects::kBoth);
  EXPECT_EQ(objects_of({both.begin(), both.begin() + 2}), Objects::kFiles);
  EXPECT_EQ(objects_of({both.begin() + 2, both.end()}), Objects::kTensors);
}

TEST(Entry, Json_RefusesEveryMistypedMember) {
  for (const Entry& entry : sample().entries) {
    const Json json = to_json(entry);
    EXPECT_EQ(entry_from_json(json, HashAlgorithm::kSha256), entry);
    for (const auto& [key, value] : json.items()) {
      Json changed = json;
      changed.erase(key);
      EXPECT_EQ(entry_from_json(changed, HashAlgorithm::kSha256).has_value(), key == "cut") << key;
      for (const Json& wrong : {Json(), Json(1.5), Json(-1), Json(true), Json::object()}) {
        changed = json;
        changed[key] = wrong;
        EXPECT_FALSE(entry_from_json(changed, HashAlgorithm::kSha256)) << key << wrong;
      }
    }
    Json extra = json;
    extra["extra"] = 1;
    EXPECT_EQ(code_of(entry_from_json(extra, HashAlgorithm::kSha256)), "unknown-member");
  }
}

}  // namespace
}  // namespace assay
