// SPDX-License-Identifier: Apache-2.0
// RFC 9162 proofs against stored vectors: ours and those of another implementation.
#include <gtest/gtest.h>

#include "schemas/core/merkle.h"
#include "tests/support/vectors.h"

namespace assay {
namespace {

using Leaves = std::vector<Digest>;

constexpr HashAlgorithm kHash = HashAlgorithm::kSha256;

Leaves hex_list(const Json& list) {
  Leaves out;
  for (const Json& item : list) {
    out.push_back(test::sha256_from_hex(item));
  }
  return out;
}

TEST(MerkleVectors, Roots_OfAllSizes) {
  const Json vectors = test::load_vectors("log.json");
  const Leaves leaves = hex_list(vectors["leaves"]);
  const Leaves roots = hex_list(vectors["roots"]);
  ASSERT_EQ(roots.size(), leaves.size() + 1);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    EXPECT_EQ(merkle_leaf(kHash, as_bytes("entry-" + std::to_string(i))), leaves[i]);
  }
  for (std::size_t size = 0; size < roots.size(); ++size) {
    EXPECT_EQ(merkle_root(kHash, std::span(leaves).first(size)), roots[size]) << size;
  }
}

TEST(MerkleVectors, InclusionPaths) {
  const Json vectors = test::load_vectors("log.json");
  const Leaves leaves = hex_list(vectors["leaves"]);
  const Leaves roots = hex_list(vectors["roots"]);
  ASSERT_GE(vectors["inclusion"].size(), 80U);
  for (const Json& row : vectors["inclusion"]) {
    const std::uint64_t index = row["index"];
    const std::uint64_t size = row["size"];
    const Leaves path = hex_list(row["path"]);
    EXPECT_EQ(inclusion_path(kHash, std::span(leaves).first(size), index), path) << row;
    EXPECT_TRUE(verify_inclusion(leaves[index], index, size, path, roots[size])) << row;
  }
}

TEST(MerkleVectors, ConsistencyProofs) {
  const Json vectors = test::load_vectors("log.json");
  const Leaves roots = hex_list(vectors["roots"]);
  ASSERT_GE(vectors["consistency"].size(), 90U);
  for (const Json& row : vectors["consistency"]) {
    const std::uint64_t first = row["size1"];
    const std::uint64_t second = row["size2"];
    EXPECT_TRUE(
        verify_consistency(first, second, roots[first], roots[second], hex_list(row["path"])))
        << row;
  }
}

// --- transparency-dev/merkle testdata: base64, some digests of wrong length on purpose

Result<Digest> foreign_digest(const Json& value) {
  if (!value.is_string()) {
    return fail(ErrorCode::kInvalidDigest, "no digest");
  }
  ASSAY_ASSIGN(const Bytes bytes, base64_decode(value.get<std::string>()));
  return Digest::from_bytes(kHash, bytes);
}

Result<Leaves> foreign_list(const Json& list) {
  Leaves out;
  for (const Json& item : list.is_array() ? list : Json::array()) {
    ASSAY_ASSIGN(Digest digest, foreign_digest(item));
    out.push_back(std::move(digest));
  }
  return out;
}

Status check_inclusion(const Json& row) {
  ASSAY_ASSIGN(const Digest root, foreign_digest(row["root"]));
  ASSAY_ASSIGN(const Digest leaf, foreign_digest(row["leafHash"]));
  ASSAY_ASSIGN(const Leaves proof, foreign_list(row["proof"]));
  return verify_inclusion(leaf, row["leafIdx"].get<std::uint64_t>(),
                          row["treeSize"].get<std::uint64_t>(), proof, root);
}

Status check_consistency(const Json& row) {
  ASSAY_ASSIGN(const Digest first, foreign_digest(row["root1"]));
  ASSAY_ASSIGN(const Digest second, foreign_digest(row["root2"]));
  ASSAY_ASSIGN(const Leaves proof, foreign_list(row["proof"]));
  return verify_consistency(row["size1"].get<std::uint64_t>(), row["size2"].get<std::uint64_t>(),
                            first, second, proof);
}

// Two equal "roots" that are no digests: a Digest cannot hold them.
constexpr std::string_view kNotExpressible = "sizes are equal (one) and proof is empty";

void run(const std::filesystem::path& folder, Status (*check)(const Json&)) {
  int rows = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() == ".json") {
      const Json row = Json::parse(test::read_file(entry.path()));
      if (row["desc"] == kNotExpressible) {
        continue;
      }
      EXPECT_EQ(check(row).has_value(), !row["wantErr"].get<bool>())
          << entry.path().filename() << ": " << row["desc"];
      ++rows;
    }
  }
  EXPECT_GE(rows, 45);
}

TEST(MerkleVectors, InclusionOfAnotherImplementation) {
  ASSAY_SHARED_VECTORS_OR_SKIP(folder, "merkle-rfc6962");
  run(folder / "inclusion", check_inclusion);
}

TEST(MerkleVectors, ConsistencyOfAnotherImplementation) {
  ASSAY_SHARED_VECTORS_OR_SKIP(folder, "merkle-rfc6962");
  run(folder / "consistency", check_consistency);
}

}  // namespace
}  // namespace assay
