// SPDX-License-Identifier: Apache-2.0
// Artifacts: ids against vectors, and everything that a reader of entries refuses.
#include "schemas/core/artifact.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "schemas/core/merkle.h"
#include "schemas/core/sha.h"
#include "tests/support/vectors.h"

namespace assay {
namespace {

using test::code_of;
using test::where_of;

Digest root_of(const char* text) { return sha256(as_bytes(text)); }

// One valid artifact; each test changes one thing.
Artifact sample() {
  Artifact artifact;
  artifact.entries = {FileEntry{"a.bin", 9000, root_of("a")},
                      FileEntry{"b.safetensors", 100, root_of("b")},
                      TensorEntry{"t1", "F32", {2, 3}, "b.safetensors", 60, 24, root_of("t1")},
                      TensorEntry{"t2", "U8", {}, "b.safetensors", 84, 1, root_of("t2")}};
  return artifact;
}

Result<Artifact> read(const Json& entries, HashAlgorithm hash, std::uint32_t chunk_size) {
  Artifact artifact{{hash, chunk_size}, {}};
  for (const Json& item : entries) {
    ASSAY_ASSIGN(Entry entry, entry_from_json(item, hash));
    artifact.entries.push_back(std::move(entry));
  }
  ASSAY_TRY(check(artifact));
  return artifact;
}

TEST(Artifact, Vectors_GiveLeavesRootAndId) {
  const Json vectors = test::load_vectors("artifact.json");
  ASSERT_GE(vectors["artifacts"].size(), 30U);
  for (const Json& row : vectors["artifacts"]) {
    const auto artifact = read(row["entries"], *hash_algorithm_from(row["hash"].get<std::string>()),
                               row["chunk_size"]);
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
    EXPECT_EQ(canonical_json(to_json(TreeParameters{hash, row["chunk_size"]})),
              row["leaves"][0].get<std::string>());
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
    EXPECT_FALSE(entries && read(*entries, HashAlgorithm::kSha256, kDefaultChunkSize))
        << row["name"];
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
  std::get<TensorEntry>(changed.entries[2]).offset -= 1;
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
  std::get<TensorEntry>(artifact.entries[3]).offset = 100;
  EXPECT_EQ(code_of(check(artifact)), "schema-violation");
  EXPECT_EQ(where_of(check(artifact)), "b.safetensors#t2");
  std::get<TensorEntry>(artifact.entries[3]).offset = 99;
  EXPECT_TRUE(check(artifact));
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

TEST(Entry, Json_RefusesEveryMistypedMember) {
  for (const Entry& entry : sample().entries) {
    const Json json = to_json(entry);
    EXPECT_EQ(entry_from_json(json, HashAlgorithm::kSha256), entry);
    for (const auto& [key, value] : json.items()) {
      Json changed = json;
      changed.erase(key);
      EXPECT_FALSE(entry_from_json(changed, HashAlgorithm::kSha256)) << key;
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
