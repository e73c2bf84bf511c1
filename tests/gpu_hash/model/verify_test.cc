// SPDX-License-Identifier: Apache-2.0
// Holding files on disk against a known artifact, and chunk proofs.
#include <gtest/gtest.h>

#include "gpu_hash/artifact_verify.h"
#include "gpu_hash/cpu_engine.h"
#include "gpu_hash/prove.h"
#include "schemas/core/merkle.h"
#include "tests/gpu_hash/support.h"

namespace assay::gpu_hash::test {
namespace {

namespace fs = std::filesystem;
using Kind = Difference::Kind;

constexpr std::string_view kHeader =
    R"({"w":{"dtype":"U8","shape":[20000],"data_offsets":[0,20000]},)"
    R"("b":{"dtype":"U8","shape":[100],"data_offsets":[20000,20100]}})";

// A model of one config and one safetensors file, and what was signed of it.
class VerifyArtifact : public testing::Test {
 protected:
  void SetUp() override {
    dir_.write("config.json", "{}");
    write_model(safetensors_file(kHeader, pattern(20100)));
    ArtifactOptions options;
    options.parameters.chunk_size = 4096;
    options.outline_span = 4096;
    auto hashed = hash_artifact(dir_.path(), options, *engine_);
    ASSERT_TRUE(hashed.has_value());
    expected_ = hashed->artifact;
    outline_ = Outline{4096, hashed->outlines};
  }

  void keep_tensors() {
    std::erase_if(expected_.entries,
                  [](const Entry& entry) { return std::holds_alternative<FileEntry>(entry); });
  }

  void write_model(const Bytes& file) { dir_.write("model.safetensors", file); }

  std::vector<Difference> verify(bool with_outline = true) {
    VerifyOptions options;
    options.outline = with_outline ? &outline_ : nullptr;
    auto verified = verify_artifact(dir_.path(), expected_, options, *engine_);
    EXPECT_TRUE(verified.has_value()) << to_string(verified.error());
    return verified ? std::move(verified->differences) : std::vector<Difference>{};
  }

  std::unique_ptr<Engine> engine_ = make_cpu_engine();
  TempDir dir_;
  Artifact expected_;
  Outline outline_;
};

TEST_F(VerifyArtifact, SameBytes_HaveNoDifferences) {
  EXPECT_TRUE(verify().empty());
  EXPECT_TRUE(verify(false).empty());
}

TEST_F(VerifyArtifact, OneByteInATensor_IsLocalisedInTheTensor) {
  Bytes data = pattern(20100);
  data[9000] ^= 1;
  write_model(safetensors_file(kHeader, data));
  const auto differences = verify();
  ASSERT_EQ(differences.size(), 1U);
  EXPECT_EQ(differences[0].file, "model.safetensors");
  EXPECT_EQ(differences[0].kind, Kind::kChanged);
  EXPECT_EQ(differences[0].tensor, "w");
  EXPECT_EQ(differences[0].ranges, (std::vector<ByteRange>{{8192, 12288}}));

  const auto coarse = verify(false);
  ASSERT_EQ(coarse.size(), 1U);
  EXPECT_EQ(coarse[0].ranges, (std::vector<ByteRange>{{0, 20000}}));
}

TEST_F(VerifyArtifact, MissingAndExtraFiles_AreListed) {
  fs::remove(dir_.path() / "config.json");
  dir_.write("pickle.bin", "evil");
  const auto differences = verify();
  ASSERT_EQ(differences.size(), 2U);
  EXPECT_EQ(differences[0].kind, Kind::kMissing);
  EXPECT_EQ(differences[0].file, "config.json");
  EXPECT_EQ(differences[1].kind, Kind::kExtra);
  EXPECT_EQ(differences[1].file, "pickle.bin");
}

TEST_F(VerifyArtifact, OtherSize_IsTheWholeObject) {
  dir_.write("config.json", "{ }");
  const auto differences = verify();
  ASSERT_EQ(differences.size(), 1U);
  EXPECT_EQ(differences[0].ranges, (std::vector<ByteRange>{{0, 2}}));
}

TEST_F(VerifyArtifact, SafetensorsThatNoLongerParses_IsChangedNotAnError) {
  Bytes file = safetensors_file(kHeader, pattern(20100));
  file[8] = '[';
  write_model(file);
  const auto differences = verify();
  ASSERT_EQ(differences.size(), 3U);  // the file, and both tensors
  for (const Difference& difference : differences) {
    EXPECT_EQ(difference.kind, Kind::kChanged);
  }
}

TEST_F(VerifyArtifact, ExtraMalformedSafetensors_IsOneExtraFile) {
  dir_.write("other.safetensors", "x");
  const auto differences = verify();
  ASSERT_EQ(differences.size(), 1U);
  EXPECT_EQ(differences[0].kind, Kind::kExtra);
  EXPECT_EQ(differences[0].file, "other.safetensors");
}

// Its root binds nothing of config.json, nor of code beside the weights.
TEST_F(VerifyArtifact, TensorsOnly_NeverVerifyADirectory) {
  keep_tensors();
  auto differences = verify(false);
  ASSERT_EQ(differences.size(), 2U);
  EXPECT_EQ(differences[0].kind, Kind::kExtra);
  EXPECT_EQ(differences[0].file, "config.json");
  EXPECT_EQ(differences[1].file, "model.safetensors");
  fs::remove(dir_.path() / "config.json");
  differences = verify(false);
  ASSERT_EQ(differences.size(), 1U);
  EXPECT_EQ(differences[0].kind, Kind::kExtra);
  EXPECT_FALSE(differences[0].tensor);
}

TEST_F(VerifyArtifact, BoundPatterns_LeaveOutAndNothingElseDoes) {
  dir_.write("modeling_evil.py", "import os");
  dir_.write(".git/HEAD", "x");
  auto differences = verify(false);
  ASSERT_EQ(differences.size(), 2U);
  EXPECT_EQ(differences[0].file, ".git/HEAD");
  EXPECT_EQ(differences[1].file, "modeling_evil.py");
  EXPECT_EQ(differences[1].kind, Kind::kExtra);
  expected_.parameters.ignore = {"/.git"};
  differences = verify(false);
  ASSERT_EQ(differences.size(), 1U);
  EXPECT_EQ(differences[0].file, "modeling_evil.py");
}

TEST_F(VerifyArtifact, ExtraFiles_AreNotHashed) {
  dir_.write("extra.bin", std::string(100'000, 'x'));
  const auto verified = verify_artifact(dir_.path(), expected_, {}, *engine_);
  ASSERT_TRUE(verified.has_value());
  EXPECT_EQ(verified->differences.size(), 1U);
  EXPECT_LT(verified->bytes, 100'000U);
}

TEST_F(VerifyArtifact, TensorsOnly_SeesRenamedTensorAndExtraMalformedFile) {
  keep_tensors();
  std::string header(kHeader);
  header.replace(header.find("\"w\""), 3, "\"v\"");
  write_model(safetensors_file(header, pattern(20100)));
  dir_.write("other.safetensors", "x");
  const auto differences = verify(false);
  ASSERT_EQ(differences.size(), 5U);
  EXPECT_EQ(differences[0].kind, Kind::kExtra);
  EXPECT_EQ(differences[0].tensor, "v");
  EXPECT_EQ(differences[1].kind, Kind::kMissing);
  EXPECT_EQ(differences[1].tensor, "w");
  EXPECT_EQ(differences[2].file, "config.json");
  EXPECT_EQ(differences[3].file, "model.safetensors");
  EXPECT_EQ(differences[4].file, "other.safetensors");
}

TEST_F(VerifyArtifact, SameBytesAsAnotherDtype_IsChanged) {
  std::string header(kHeader);
  header.replace(header.find("U8"), 2, "I8");
  write_model(safetensors_file(header, pattern(20100)));
  const auto differences = verify();
  ASSERT_EQ(differences.size(), 2U);  // the file's header, and the tensor
  EXPECT_EQ(differences[1].tensor, "w");
}

TEST_F(VerifyArtifact, SingleFileUnderAnotherName_IsTheSameFile) {
  const fs::path file = dir_.path() / "config.json";
  const auto hashed = hash_artifact(file, {}, *engine_);
  ASSERT_TRUE(hashed.has_value());
  fs::rename(file, dir_.path() / "renamed");
  const auto verified = verify_artifact(dir_.path() / "renamed", hashed->artifact, {}, *engine_);
  ASSERT_TRUE(verified.has_value());
  EXPECT_TRUE(verified->differences.empty());
}

TEST_F(VerifyArtifact, OutlineOfAnotherArtifact_IsRefused) {
  outline_.entries[0][0] = merkle_leaf(HashAlgorithm::kSha256, as_bytes("other"));
  VerifyOptions options;
  options.outline = &outline_;
  const auto verified = verify_artifact(dir_.path(), expected_, options, *engine_);
  ASSERT_FALSE(verified.has_value());
  EXPECT_EQ(verified.error().code, ErrorCode::kMalformedOutline);
}

TEST(ProveChunk, EveryChunkOfManySizes_Verifies) {
  const auto engine = make_cpu_engine();
  const TreeParameters parameters{HashAlgorithm::kSha384, 4096};
  for (const std::size_t size : {1U, 4096U, 4097U, 5U * 4096U, 11U * 4096U + 7U}) {
    const Bytes object = pattern(size);
    const Digest root = reference_root(parameters, object);
    for (std::uint64_t i = 0; i * 4096 < size; ++i) {
      const auto proof = prove_chunk(*engine, host_region(object), parameters, i);
      ASSERT_TRUE(proof.has_value()) << to_string(proof.error());
      EXPECT_EQ(proof->root, root);
      const ByteView chunk =
          ByteView(object).subspan(i * 4096, std::min<std::size_t>(4096, size - i * 4096));
      EXPECT_TRUE(verify_chunk(parameters, *proof, chunk, size, root).has_value());
      EXPECT_TRUE(verify_inclusion(proof->leaf, i, proof->chunks, proof->path, root).has_value());
    }
  }
}

TEST(ProveChunk, EverythingThatIsWrong_IsProofInvalid) {
  const auto engine = make_cpu_engine();
  const TreeParameters parameters{HashAlgorithm::kSha256, 4096};
  const Bytes object = pattern(3 * 4096);
  const Digest root = reference_root(parameters, object);
  const auto proof = prove_chunk(*engine, host_region(object), parameters, 1);
  ASSERT_TRUE(proof.has_value());
  const ByteView chunk = ByteView(object).subspan(4096, 4096);
  const auto refused = [&](const ChunkProof& p, ByteView bytes, std::uint64_t size,
                           const Digest& r) {
    const Status status = verify_chunk(parameters, p, bytes, size, r);
    return !status && status.error().code == ErrorCode::kProofInvalid;
  };
  EXPECT_FALSE(refused(*proof, chunk, object.size(), root));
  EXPECT_TRUE(refused(*proof, chunk.first(4095), object.size(), root));
  EXPECT_TRUE(refused(*proof, ByteView(object).first(4096), object.size(), root));
  EXPECT_TRUE(refused(*proof, chunk, object.size() + 4096, root));
  EXPECT_TRUE(refused(*proof, chunk, object.size(), proof->leaf));
  ChunkProof changed = *proof;
  changed.index = 0;
  EXPECT_TRUE(refused(changed, chunk, object.size(), root));
  changed = *proof;
  changed.path.pop_back();
  EXPECT_TRUE(refused(changed, chunk, object.size(), root));
  changed = *proof;
  changed.path[0] = proof->leaf;
  EXPECT_TRUE(refused(changed, chunk, object.size(), root));
}

TEST(ProveChunk, NoSuchChunk_IsInvalidParameter) {
  const auto engine = make_cpu_engine();
  for (const std::size_t size : {0U, 16384U}) {
    const Bytes object = pattern(size);
    const auto proof = prove_chunk(*engine, host_region(object), {}, 1);
    ASSERT_FALSE(proof.has_value());
    EXPECT_EQ(proof.error().code, ErrorCode::kInvalidParameter);
  }
}

}  // namespace
}  // namespace assay::gpu_hash::test
