// SPDX-License-Identifier: Apache-2.0
// Files over their segments: what the tensors that are listed say of their file. Each attack is a
// list that somebody could sign. tests/vectors/artifact.json has more of them.
#include "schemas/core/file_root.h"

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

Digest digest_of(std::string_view text) { return sha256(as_bytes(text)); }

// Straight from the definition.
Digest zeros(const TreeParameters& parameters, std::size_t size) {
  std::vector<Digest> leaves;
  const Bytes bytes(size, 0);
  for (std::size_t at = 0; at < size; at += parameters.chunk_size) {
    const std::size_t length = std::min<std::size_t>(parameters.chunk_size, size - at);
    leaves.push_back(merkle_leaf(parameters.hash, ByteView(bytes).subspan(at, length)));
  }
  return merkle_root(parameters.hash, leaves);
}

TEST(PaddingRoots, AreThoseOfZeros) {
  for (const HashAlgorithm hash : {HashAlgorithm::kSha256, HashAlgorithm::kSha384}) {
    for (const std::uint32_t chunk : {4096U, 16384U, 1048576U}) {
      const TreeParameters parameters{hash, chunk};
      PaddingRoots roots(parameters);
      for (const std::size_t size : {1U, 31U, 1023U, 1024U, 1025U, 4095U, 4096U, 4097U, 8192U,
                                     16383U, 16384U, 16385U, 40000U, 65535U, 31U}) {
        EXPECT_EQ(roots.of(size), zeros(parameters, size)) << size << " " << chunk;
      }
    }
  }
}

// A file of 100 bytes, whose header has 24, and three tensors.
class CutFiles : public testing::Test {
 protected:
  static TensorEntry tensor(const std::string& name, std::uint64_t offset, std::uint64_t size) {
    return {name, "U8", {size}, "m", offset, size, digest_of(name)};
  }

  static Artifact make(CutFormat format, std::uint64_t size,
                       const std::vector<TensorEntry>& tensors) {
    Artifact artifact;
    artifact.entries = {test::cut_file("m", size, {format, 24, digest_of("header")}, tensors)};
    artifact.entries.insert(artifact.entries.end(), tensors.begin(), tensors.end());
    return artifact;
  }

  void keep_file_alone() {
    artifact_.entries.erase(artifact_.entries.begin() + 1, artifact_.entries.end());
  }
  FileEntry& file() { return std::get<FileEntry>(artifact_.entries[0]); }
  TensorEntry& at(std::size_t i) { return std::get<TensorEntry>(artifact_.entries.at(i + 1)); }

  void expect_refused(const std::string& where) {
    EXPECT_EQ(code_of(check(artifact_)), "schema-violation");
    EXPECT_EQ(where_of(check(artifact_)), where);
    EXPECT_EQ(code_of(artifact_id(artifact_)), "schema-violation");
    EXPECT_TRUE(check_some(artifact_)) << "a report may say so, and is compared";
    artifact_ = good_;
  }

  const Artifact good_ = make(CutFormat::kSafetensors, 100,
                              {tensor("a", 24, 40), tensor("b", 64, 30), tensor("c", 94, 6)});
  Artifact artifact_ = good_;
};

TEST_F(CutFiles, RootIsThatOfItsSegments) {
  EXPECT_TRUE(check(artifact_));
  EXPECT_EQ(file().root,
            merkle_root(HashAlgorithm::kSha256, std::vector{digest_of("header"), digest_of("a"),
                                                            digest_of("b"), digest_of("c")}));
  EXPECT_EQ(own_size(artifact_.entries[0]), 24U);
  EXPECT_EQ(own_root(artifact_.entries[0]), digest_of("header"));
  EXPECT_EQ(own_size(artifact_.entries[1]), 40U);
}

TEST_F(CutFiles, TensorWithAnotherRootThanInItsFile_IsRefused) {
  at(1).root = digest_of("other");
  expect_refused("m");
  file().cut->root = digest_of("other");
  expect_refused("m");
  file().root = digest_of("other");
  expect_refused("m");
  std::swap(at(0).root, at(1).root);
  expect_refused("m");
}

TEST_F(CutFiles, TensorsThatDoNotFillTheFile_AreRefused) {
  artifact_.entries.pop_back();
  expect_refused("m");
  artifact_.entries.erase(artifact_.entries.begin() + 1);
  expect_refused("m#b");
  keep_file_alone();
  EXPECT_TRUE(check(artifact_)) << "files alone say nothing of tensors";
  artifact_ = good_;
  file().size = 101;
  expect_refused("m");
  file().cut->size = 23;
  artifact_.entries[1] = tensor("a", 24, 40);
  expect_refused("m#a");
}

TEST_F(CutFiles, BytesOfTwoTensors_AreRefused) {
  artifact_.entries.insert(artifact_.entries.begin() + 2, tensor("a2", 24, 40));
  expect_refused("m#a2");
  at(1) = tensor("b", 63, 31);
  expect_refused("m#b");
  at(0) = tensor("a", 20, 44);
  expect_refused("m#a");
  at(0) = tensor("a", 64, 30);
  at(1) = tensor("b", 24, 40);
  expect_refused("m");
}

TEST_F(CutFiles, TensorsOfAFileWithoutACut_AreRefused) {
  file().cut.reset();
  expect_refused("m#a");
}

TEST_F(CutFiles, OneFileWithoutItsTensors_IsRefusedWhereOthersHaveThem) {
  artifact_.entries.insert(
      artifact_.entries.begin() + 1,
      FileEntry{"n", 100, digest_of("n"), Cut{CutFormat::kSafetensors, 24, digest_of("h")}});
  expect_refused("n");
  artifact_.entries.insert(
      artifact_.entries.begin() + 1,
      FileEntry{"n", 24, digest_of("h"), Cut{CutFormat::kSafetensors, 24, digest_of("h")}});
  EXPECT_TRUE(check(artifact_)) << "it has none";
}

TEST_F(CutFiles, FileThatIsItsHeader_HasItsRoot) {
  for (const bool with_tensors : {false, true}) {
    if (!with_tensors) {
      keep_file_alone();
    }
    artifact_.entries.insert(
        artifact_.entries.begin(),
        FileEntry{"h", 24, digest_of("other"), Cut{CutFormat::kGguf, 24, digest_of("h")}});
    expect_refused("h");
  }
}

TEST_F(CutFiles, TensorWithoutBytes_IsNoSegment) {
  TensorEntry empty{"e", "U8", {0}, "m", 64, 0, merkle_empty(HashAlgorithm::kSha256)};
  artifact_.entries.push_back(empty);
  EXPECT_TRUE(check(artifact_));
  for (const std::uint64_t offset : {24U, 94U, 100U}) {
    std::get<TensorEntry>(artifact_.entries.back()).offset = offset;
    EXPECT_TRUE(check(artifact_)) << offset;
  }
  for (const std::uint64_t offset : {0U, 23U, 25U, 63U, 99U}) {
    std::get<TensorEntry>(artifact_.entries.back()).offset = offset;
    EXPECT_EQ(code_of(check(artifact_)), "schema-violation") << offset;
  }
  empty.root = digest_of("e");
  artifact_.entries.back() = empty;
  expect_refused("m#e");
}

TEST_F(CutFiles, HeadersThatCannotBe_AreRefused) {
  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{9}, std::uint64_t{101},
                                   std::uint64_t{100'000'009}, UINT64_MAX}) {
    artifact_ = good_;
    keep_file_alone();
    file().size = std::max<std::uint64_t>(100, size == UINT64_MAX ? 0 : size - (size == 101));
    file().cut->size = size;
    EXPECT_EQ(code_of(check(artifact_)), "schema-violation") << size;
    EXPECT_EQ(code_of(check_some(artifact_)), "schema-violation") << size;
  }
  artifact_ = good_;
  file().cut->root = sha(HashAlgorithm::kSha384, as_bytes("h"));
  EXPECT_EQ(code_of(check_some(artifact_)), "invalid-digest");
}

TEST_F(CutFiles, PaddingOfGguf_HasTheRootOfZeros) {
  // Before, between and behind the tensors; `e` has no bytes and ends no padding.
  TensorEntry empty{"e", "U8", {0}, "m", 80, 0, merkle_empty(HashAlgorithm::kSha256)};
  artifact_ = make(CutFormat::kGguf, 65'671, {tensor("a", 32, 40), tensor("b", 96, 40), empty});
  EXPECT_TRUE(check(artifact_));
  const TreeParameters& parameters = artifact_.parameters;
  EXPECT_EQ(file().root,
            merkle_root(parameters.hash, std::vector{digest_of("header"), zeros(parameters, 8),
                                                     digest_of("a"), zeros(parameters, 24),
                                                     digest_of("b"), zeros(parameters, 65'535)}));
  file().size += 1;
  EXPECT_EQ(where_of(check(artifact_)), "m") << "no padding is so long";
  file().size -= 2;
  EXPECT_EQ(where_of(check(artifact_)), "m") << "another root";
  file().size += 1;
  file().cut->format = CutFormat::kSafetensors;
  EXPECT_EQ(where_of(check(artifact_)), "m#a") << "a safetensors file has no padding";
}

// Somebody signs a manifest in which every gap has another size.
TEST_F(CutFiles, GapsOfAllSizes_AreCheckedInBoundedTime) {
  std::vector<TensorEntry> tensors;
  std::uint64_t offset = 24;
  for (std::uint64_t gap = 1; gap <= kMaxPadding; gap += 7) {
    offset += gap;
    tensors.push_back(tensor(std::to_string(1'000'000 + gap), offset, 1));
    offset += 1;
  }
  EXPECT_TRUE(check(make(CutFormat::kGguf, offset, tensors)));
}

}  // namespace
}  // namespace assay
