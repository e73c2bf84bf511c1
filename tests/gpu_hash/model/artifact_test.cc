// SPDX-License-Identifier: Apache-2.0
// Artifacts and outlines from files on disk, against the vectors of the reference implementation.
#include <gtest/gtest.h>

#include "gpu_hash/artifact_hash.h"
#include "gpu_hash/cpu_engine.h"
#include "schemas/core/outline.h"
#include "tests/gpu_hash/support.h"

namespace assay::gpu_hash::test {
namespace {

void write_tree(const TempDir& dir, const Json& vectors, const Json& tree) {
  for (const Json& file : tree["files"]) {
    const std::string hex = file.contains("model") ? vectors["model_hex"].get<std::string>()
                                                   : file["hex"].get<std::string>();
    dir.write(file["path"].get<std::string>(), *hex_decode(hex));
  }
}

ArtifactOptions options_of(const Json& tree) {
  ArtifactOptions options;
  options.parameters = {*hash_algorithm_from(tree["hash"].get<std::string>()),
                        tree["chunk_size"].get<std::uint32_t>(),
                        tree["ignore"].get<std::vector<std::string>>()};
  sort_ignore(options.parameters.ignore);
  options.objects = *parse_objects(tree["objects"].get<std::string>());
  options.whole = tree["whole"].get<std::vector<std::string>>();
  options.outline_span = tree["span"].get<std::uint64_t>();
  return options;
}

Json entries_json(const Artifact& artifact) {
  Json entries = Json::array();
  for (const Entry& entry : artifact.entries) {
    entries.push_back(to_json(entry));
  }
  return entries;
}

TEST(Artifact, TreeVectors_GiveEntriesRootAndOutline) {
  const Json vectors = load_vectors("artifact");
  std::vector<std::unique_ptr<Engine>> engines;
  engines.push_back(make_cpu_engine());
  if (auto opencl = opencl_engine()) {
    engines.push_back(std::move(opencl));
  }
  for (const Json& tree : vectors["trees"]) {
    SCOPED_TRACE(tree["name"].get<std::string>());
    const TempDir dir;
    write_tree(dir, vectors, tree);
    for (const auto& engine : engines) {
      const auto hashed = hash_artifact(dir.path(), options_of(tree), *engine);
      ASSERT_TRUE(hashed.has_value()) << to_string(hashed.error());
      const Json& want = tree["result"];
      EXPECT_EQ(entries_json(hashed->artifact), want["objects"]);
      EXPECT_EQ(to_json(hashed->artifact.parameters), want["parameters"]);
      EXPECT_EQ(hashed->id.root().hex(), want["root"].get<std::string>());
      EXPECT_EQ(hashed->bytes, want["bytes"].get<std::uint64_t>());
      EXPECT_EQ(hashed->engine.id, engine->info().id);
      const Outline outline{tree["span"].get<std::uint64_t>(), hashed->outlines};
      const auto blob = encode_outline(outline, hashed->artifact);
      ASSERT_TRUE(blob.has_value()) << to_string(blob.error());
      EXPECT_EQ(base64_encode(*blob), tree["outline"].get<std::string>());
      EXPECT_EQ(decode_outline(*blob, hashed->artifact), outline);
    }
  }
}

// The worked example of schemas/tree.md section 9.
TEST(Artifact, WorkedExample_GivesItsRoot) {
  const TempDir dir;
  dir.write("a.bin", pattern(9000));
  Bytes data = pattern(5000);
  data.insert(data.end(), {'a', 'b', 'c'});
  dir.write("b.safetensors",
            safetensors_file(R"({"u":{"dtype":"U8","shape":[5000],"data_offsets":[0,5000]},)"
                             R"("t":{"dtype":"U8","shape":[3],"data_offsets":[5000,5003]}})",
                             data));
  const auto engine = make_cpu_engine();
  ArtifactOptions options;
  options.parameters.chunk_size = 4096;
  const auto hashed = hash_artifact(dir.path(), options, *engine);
  ASSERT_TRUE(hashed.has_value());
  EXPECT_EQ(hashed->id.text(),
            "assay-tree-v1-sha256:"
            "718b3550aa0d495b624b9b1bf1825287b951f2e5c18348a817289be5345071be");
  EXPECT_EQ(hashed->bytes, 9000U + 5128U) << "each byte once";
}

TEST(Artifact, MalformedSafetensors_FailsWithItsName) {
  const TempDir dir;
  dir.write("sub/model.safetensors", "not one");
  const auto engine = make_cpu_engine();
  const auto hashed = hash_artifact(dir.path(), {}, *engine);
  ASSERT_FALSE(hashed.has_value());
  EXPECT_EQ(hashed.error().code, ErrorCode::kMalformedSafetensors);
  EXPECT_EQ(hashed.error().where, "sub/model.safetensors");
  ArtifactOptions options;
  options.objects = Objects::kFiles;
  EXPECT_EQ(hash_artifact(dir.path(), options, *engine).error().code,
            ErrorCode::kMalformedSafetensors);
  options.whole = {"sub/model.safetensors"};
  const auto whole = hash_artifact(dir.path(), options, *engine);
  ASSERT_TRUE(whole.has_value());
  EXPECT_FALSE(std::get<FileEntry>(whole->artifact.entries[0]).cut);
  options.whole.emplace_back("model.safetensors");
  const auto other = hash_artifact(dir.path(), options, *engine);
  ASSERT_FALSE(other.has_value());
  EXPECT_EQ(other.error().code, ErrorCode::kInvalidParameter);
  EXPECT_EQ(other.error().where, "model.safetensors");
}

TEST(Artifact, NothingToHash_IsInvalidParameter) {
  const TempDir dir;
  const auto engine = make_cpu_engine();
  EXPECT_EQ(hash_artifact(dir.path(), {}, *engine).error().code, ErrorCode::kInvalidParameter);
  dir.write("config.json", "{}");
  ArtifactOptions tensors;
  tensors.objects = Objects::kTensors;
  EXPECT_EQ(hash_artifact(dir.path(), tensors, *engine).error().code, ErrorCode::kInvalidParameter);
}

TEST(Artifact, Progress_ReachesTheTotal) {
  const TempDir dir;
  dir.write("a", pattern(100));
  dir.write("b", pattern(3U << 20));
  const auto engine = make_cpu_engine();
  std::uint64_t last = 0;
  const auto hashed =
      hash_artifact(dir.path(), {}, *engine, [&](std::uint64_t done, std::uint64_t total) {
        EXPECT_EQ(total, 100 + (3U << 20));
        last = done;
      });
  ASSERT_TRUE(hashed.has_value());
  EXPECT_EQ(last, hashed->bytes);
}

TEST(Artifact, StopBeforeTheStart_IsCancelled) {
  const TempDir dir;
  dir.write("a", pattern(100));
  const auto engine = make_cpu_engine();
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(hash_artifact(dir.path(), {}, *engine, {}, stop.get_token()).error().code,
            ErrorCode::kCancelled);
}

TEST(Objects, Names_RoundTrip) {
  for (const Objects objects : {Objects::kFiles, Objects::kTensors, Objects::kBoth}) {
    EXPECT_EQ(parse_objects(name(objects)), objects);
  }
  EXPECT_EQ(parse_objects("all").error().code, ErrorCode::kInvalidParameter);
}

Artifact first_model(const Json& vectors) {
  for (const Json& tree : vectors["trees"]) {
    if (tree["name"] == "a model") {
      const TempDir dir;
      write_tree(dir, vectors, tree);
      const auto engine = make_cpu_engine();
      return hash_artifact(dir.path(), options_of(tree), *engine)->artifact;
    }
  }
  return {};
}

TEST(Outline, RefusedVectors_AreMalformedOutlines) {
  const Json vectors = load_vectors("artifact");
  const Artifact artifact = first_model(vectors);
  for (const Json& item : vectors["refused_outlines"]) {
    const auto blob = base64_decode(item["outline"].get<std::string>());
    ASSERT_TRUE(blob.has_value());
    const auto outline = decode_outline(*blob, artifact);
    ASSERT_FALSE(outline.has_value()) << item["name"];
    EXPECT_EQ(outline.error().code, ErrorCode::kMalformedOutline) << item["name"];
  }
}

TEST(Outline, EveryFlippedBitAndTruncation_IsRefused) {
  const Json vectors = load_vectors("artifact");
  const Artifact artifact = first_model(vectors);
  Bytes blob;
  for (const Json& tree : vectors["trees"]) {
    if (tree["name"] == "a model") {
      blob = *base64_decode(tree["outline"].get<std::string>());
      break;
    }
  }
  ASSERT_TRUE(decode_outline(blob, artifact).has_value());
  for (std::size_t i = 0; i < blob.size(); ++i) {
    Bytes changed = blob;
    changed[i] ^= static_cast<std::uint8_t>(1U << (i % 8));
    EXPECT_FALSE(decode_outline(changed, artifact).has_value()) << i;
    EXPECT_FALSE(decode_outline(ByteView(blob).first(i), artifact).has_value()) << i;
  }
}

TEST(Outline, DifferingRanges_AreJoinedAndCutAtTheEnd) {
  const Bytes object = pattern(4 * 8192 + 100);
  const TreeParameters parameters{HashAlgorithm::kSha256, 4096};
  const std::vector<Digest> expected = reference_outline(parameters, object, 8192);
  Bytes changed = object;
  changed[8192] ^= 1;
  changed[3 * 8192 - 1] ^= 1;
  changed.back() ^= 1;
  const std::vector<Digest> actual = reference_outline(parameters, changed, 8192);
  EXPECT_EQ(differing_ranges(expected, actual, 8192, object.size()),
            (std::vector<ByteRange>{{8192, 3 * 8192}, {4 * 8192, 4 * 8192 + 100}}));
  EXPECT_TRUE(differing_ranges(expected, expected, 8192, object.size()).empty());
}

}  // namespace
}  // namespace assay::gpu_hash::test
