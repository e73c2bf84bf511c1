// SPDX-License-Identifier: Apache-2.0
// Contract of storage/store.h: the log, its proofs and tiles, against schemas/core/merkle.h.
#include <random>

#include "schemas/core/merkle.h"
#include "schemas/tiles.h"
#include "tests/storage/store_contract.h"
#include "tests/support/seed.h"

namespace assay::storage {
namespace {

constexpr HashAlgorithm kHash = HashAlgorithm::kSha256;

std::vector<Digest> leaves_of(Snapshot& view, TreeSize size) {
  std::vector<Digest> leaves;
  for (LeafIndex i = 0; i < size; ++i) {
    leaves.push_back(merkle_leaf(kHash, view.log_record(i).value()));
  }
  return leaves;
}

Digest root_of(const std::vector<Digest>& leaves, TreeSize size) {
  return merkle_root(kHash, std::span(leaves).first(size));
}

void expect_inclusion(Snapshot& view, const std::vector<Digest>& leaves, LeafIndex index,
                      TreeSize size, const Digest& root) {
  const auto proof = view.inclusion_proof(index, size);
  ASSERT_TRUE(proof) << to_string(proof.error());
  ASSERT_TRUE(verify_inclusion(leaves[index], index, size, *proof, root)) << index << " " << size;
}

void expect_consistency(Snapshot& view, TreeSize first, const Digest& first_root, TreeSize second,
                        const Digest& second_root) {
  const auto proof = view.consistency_proof(first, second);
  ASSERT_TRUE(proof) << to_string(proof.error());
  ASSERT_TRUE(verify_consistency(first, second, first_root, second_root, *proof))
      << first << " " << second;
}

TEST_P(StoreContract, Log_AllSizesTo300_RootsAndProofsVerify) {
  constexpr TreeSize kMax = 300;
  for (TreeSize size = 0; size < kMax; size += 60) {
    append(60);
  }
  const auto view = snapshot();
  const std::vector<Digest> leaves = leaves_of(*view, kMax);
  std::vector<Digest> roots;
  for (TreeSize size = 0; size <= kMax; ++size) {
    roots.push_back(root_of(leaves, size));
    ASSERT_EQ(view->log_root(size), roots[size]);
  }
  for (TreeSize size = 1; size <= kMax; ++size) {
    // All leaves of small trees, and some of every larger one.
    for (LeafIndex index = 0; index < size; index += size <= 40 ? 1 : 1 + size / 13) {
      expect_inclusion(*view, leaves, index, size, roots[size]);
    }
    expect_inclusion(*view, leaves, size - 1, size, roots[size]);
    for (TreeSize first = 1; first <= size; first += size <= 40 ? 1 : 1 + size / 13) {
      expect_consistency(*view, first, roots[first], size, roots[size]);
    }
  }
}

TEST_P(StoreContract, Log_RandomLargeSizes_ProofsVerify) {
  const std::uint64_t seed = random_test_seed();
  SCOPED_TRACE(test_seed_text(seed));
  std::mt19937_64 random(seed);
  constexpr TreeSize kMax = 5000;
  append(kMax);
  const auto view = snapshot();
  const std::vector<Digest> leaves = leaves_of(*view, kMax);
  for (int i = 0; i < 60; ++i) {
    const TreeSize size = 1 + random() % kMax;
    const TreeSize first = 1 + random() % size;
    const Digest root = root_of(leaves, size);
    ASSERT_EQ(view->log_root(size), root);
    expect_inclusion(*view, leaves, random() % size, size, root);
    expect_consistency(*view, first, root_of(leaves, first), size, root);
  }
  EXPECT_TRUE(view->verify_log());
}

TEST_P(StoreContract, Log_BeyondItsSize_IsRefused) {
  append(5);
  const auto view = snapshot();
  EXPECT_EQ(view->log_record(5).error().code, ErrorCode::kInvalidParameter);
  EXPECT_EQ(view->log_record(~LeafIndex{0}).error().code, ErrorCode::kInvalidParameter);
  EXPECT_EQ(view->log_root(6).error().code, ErrorCode::kInvalidParameter);
  EXPECT_EQ(view->inclusion_proof(0, 6).error().code, ErrorCode::kInvalidParameter);
  EXPECT_EQ(view->inclusion_proof(5, 5).error().code, ErrorCode::kInvalidParameter);
  EXPECT_EQ(view->inclusion_proof(0, 0).error().code, ErrorCode::kInvalidParameter);
  EXPECT_EQ(view->consistency_proof(0, 5).error().code, ErrorCode::kInvalidParameter);
  EXPECT_EQ(view->consistency_proof(4, 3).error().code, ErrorCode::kInvalidParameter);
  EXPECT_EQ(view->consistency_proof(5, 6).error().code, ErrorCode::kInvalidParameter);
  EXPECT_TRUE(view->consistency_proof(5, 5)->empty());
}

TEST_P(StoreContract, Tiles_AllOfALog_EqualTheRecomputedHashes) {
  constexpr TreeSize kSize = 256 * 3 + 44;
  append(kSize);
  const auto view = snapshot();
  const std::vector<Digest> leaves = leaves_of(*view, kSize);
  std::vector<TileAddress> tiles;
  ASSERT_TRUE(for_each_tile(kSize, [&tiles](const TileAddress& tile) -> Status {
    tiles.push_back(tile);
    return {};
  }));
  ASSERT_EQ(tiles.size(), 9U) << "4 tiles of leaves with their bundles, one tile above";
  for (const TileAddress& tile : tiles) {
    Bytes expected;
    const std::uint64_t span = std::uint64_t{1} << (8 * tile.level.value_or(0));
    for (std::uint64_t i = 0; i < tile.width; ++i) {
      const std::uint64_t begin = (tile.index * 256 + i) * span;
      if (tile.level) {
        const Digest root = merkle_root(kHash, std::span(leaves).subspan(begin, span));
        expected.insert(expected.end(), root.bytes().begin(), root.bytes().end());
      } else {
        append_bundle_entry(expected, view->log_record(begin).value());
      }
    }
    const auto actual = tile.level ? view->tile(*tile.level, tile.index, tile.width)
                                   : view->entry_bundle(tile.index, tile.width);
    ASSERT_TRUE(actual) << tile_path(tile);
    EXPECT_EQ(*actual, expected) << tile_path(tile);
  }
}

TEST_P(StoreContract, Tiles_NotThere_AreNotFound) {
  append(300);
  const auto view = snapshot();
  EXPECT_TRUE(view->tile(0, 1, 44));
  EXPECT_TRUE(view->tile(0, 1, 1)) << "a smaller part of what is there";
  EXPECT_TRUE(view->tile(1, 0, 1));
  const std::vector<std::tuple<unsigned, std::uint64_t, unsigned>> missing = {
      {0, 1, 45},
      {0, 1, 256},
      {0, 2, 1},
      {1, 0, 2},
      {1, 1, 1},
      {2, 0, 1},
      {0, ~std::uint64_t{0}, 1},
      {7, 0, 1},
      {8, 0, 1},
      {63, 0, 1},
      {~0U, 0, 1},
      {1, std::uint64_t{1} << 56, 256}};
  for (const auto& [level, index, width] : missing) {
    const auto tile = view->tile(level, index, width);
    ASSERT_FALSE(tile);
    EXPECT_EQ(tile.error().code, ErrorCode::kNotFound) << level << " " << index << " " << width;
  }
  EXPECT_EQ(view->entry_bundle(1, 45).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(view->tile(0, 0, 0).error().code, ErrorCode::kInvalidParameter);
  EXPECT_EQ(view->tile(0, 0, 257).error().code, ErrorCode::kInvalidParameter);
  EXPECT_EQ(view->entry_bundle(0, 0).error().code, ErrorCode::kInvalidParameter);
}

}  // namespace
}  // namespace assay::storage
