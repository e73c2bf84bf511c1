// SPDX-License-Identifier: Apache-2.0
// RFC 9162 trees against a second implementation, written here straight from section 2.1.
#include "schemas/core/merkle.h"

#include <gtest/gtest.h>

#include "schemas/core/sha.h"
#include "tests/support/vectors.h"

namespace assay {
namespace {

using test::code_of;
using Leaves = std::vector<Digest>;
using View = std::span<const Digest>;

constexpr HashAlgorithm kHash = HashAlgorithm::kSha256;
constexpr std::uint64_t kSizes = 33;

Leaves make_leaves(std::uint64_t count) {
  Leaves leaves;
  for (std::uint64_t i = 0; i < count; ++i) {
    leaves.push_back(merkle_leaf(kHash, as_bytes("entry-" + std::to_string(i))));
  }
  return leaves;
}

// --- section 2.1.1 to 2.1.4, by recursion

std::size_t largest_power_below(std::size_t n) {
  std::size_t k = 1;
  while (k * 2 < n) {
    k *= 2;
  }
  return k;
}

Digest mth(View d) {
  if (d.empty()) {
    return sha256({});
  }
  if (d.size() == 1) {
    return d[0];
  }
  const std::size_t k = largest_power_below(d.size());
  const Digest left = mth(d.first(k));
  const Digest right = mth(d.subspan(k));
  Bytes node = {1};
  node.insert(node.end(), left.bytes().begin(), left.bytes().end());
  node.insert(node.end(), right.bytes().begin(), right.bytes().end());
  return sha256(node);
}

Leaves path(std::size_t m, View d) {
  if (d.size() <= 1) {
    return {};
  }
  const std::size_t k = largest_power_below(d.size());
  Leaves out = m < k ? path(m, d.first(k)) : path(m - k, d.subspan(k));
  out.push_back(m < k ? mth(d.subspan(k)) : mth(d.first(k)));
  return out;
}

Leaves subproof(std::size_t m, View d, bool complete) {
  if (m == d.size()) {
    return complete ? Leaves() : Leaves{mth(d)};
  }
  const std::size_t k = largest_power_below(d.size());
  Leaves out = m <= k ? subproof(m, d.first(k), complete) : subproof(m - k, d.subspan(k), false);
  out.push_back(m <= k ? mth(d.subspan(k)) : mth(d.first(k)));
  return out;
}

// The hash of a run of leaves as a store makes it: from the digests of complete subtrees.
Digest folded(View leaves, LeafRange range) {
  Leaves parts;
  for (const LeafRange& part : complete_subtrees(range)) {
    parts.push_back(mth(leaves.subspan(part.begin, part.end - part.begin)));
  }
  return merkle_fold(parts);
}

Digest flipped(const Digest& digest, std::size_t bit) {
  Bytes bytes(digest.bytes().begin(), digest.bytes().end());
  bytes[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
  return *Digest::from_bytes(digest.algorithm(), bytes);
}

TEST(Merkle, LeafAndNode_HaveTheirPrefixes) {
  EXPECT_EQ(merkle_leaf(kHash, as_bytes("x")), sha256(as_bytes(std::string_view("\0x", 2))));
  const Digest a = sha256(as_bytes("a"));
  Bytes joined = {1};
  joined.insert(joined.end(), a.bytes().begin(), a.bytes().end());
  joined.insert(joined.end(), a.bytes().begin(), a.bytes().end());
  EXPECT_EQ(merkle_node(a, a), sha256(joined));
  EXPECT_EQ(merkle_empty(kHash), sha256({}));
  EXPECT_EQ(merkle_empty(HashAlgorithm::kSha384), sha(HashAlgorithm::kSha384, ByteView()));
}

TEST(Merkle, Roots_AgreeWithTheRecursion) {
  const Leaves leaves = make_leaves(kSizes);
  MerkleAccumulator accumulator(kHash);
  EXPECT_EQ(accumulator.root(), merkle_empty(kHash));
  for (std::size_t size = 1; size <= leaves.size(); ++size) {
    accumulator.append(leaves[size - 1]);
    EXPECT_EQ(accumulator.size(), size);
    EXPECT_EQ(accumulator.root(), mth(View(leaves).first(size))) << size;
    EXPECT_EQ(merkle_root(kHash, View(leaves).first(size)), accumulator.root()) << size;
  }
}

TEST(Merkle, InclusionPaths_AgreeAndVerify) {
  const Leaves leaves = make_leaves(kSizes);
  for (std::size_t size = 1; size <= leaves.size(); ++size) {
    const View tree = View(leaves).first(size);
    const Digest root = mth(tree);
    for (std::size_t index = 0; index < size; ++index) {
      const Leaves want = path(index, tree);
      EXPECT_EQ(inclusion_path(kHash, tree, index), want);
      EXPECT_TRUE(verify_inclusion(leaves[index], index, size, want, root));
      Leaves stored;
      const auto ranges = inclusion_ranges(index, size);
      ASSERT_TRUE(ranges);
      for (const LeafRange& range : *ranges) {
        stored.push_back(folded(tree, range));
      }
      EXPECT_EQ(stored, want);
    }
  }
}

TEST(Merkle, ConsistencyProofs_AgreeAndVerify) {
  const Leaves leaves = make_leaves(kSizes);
  for (std::size_t second = 1; second <= leaves.size(); ++second) {
    const View tree = View(leaves).first(second);
    for (std::size_t first = 1; first <= second; ++first) {
      const Leaves want = subproof(first, tree, true);
      Leaves stored;
      const auto ranges = consistency_ranges(first, second);
      ASSERT_TRUE(ranges);
      for (const LeafRange& range : *ranges) {
        stored.push_back(folded(tree, range));
      }
      EXPECT_EQ(stored, want);
      EXPECT_TRUE(verify_consistency(first, second, mth(tree.first(first)), mth(tree), want));
    }
  }
}

TEST(Merkle, MutatedInclusion_DoesNotVerify) {
  const Leaves leaves = make_leaves(11);
  const Digest root = mth(leaves);
  for (std::uint64_t index = 0; index < leaves.size(); ++index) {
    const Leaves good = path(index, leaves);
    ASSERT_TRUE(verify_inclusion(leaves[index], index, 11, good, root));
    for (std::uint64_t other = 0; other < 13; ++other) {
      if (other != index) {
        EXPECT_EQ(code_of(verify_inclusion(leaves[index], other, 11, good, root)), "proof-invalid");
      }
    }
    for (std::size_t bit = 0; bit < 256; bit += 37) {
      EXPECT_FALSE(verify_inclusion(flipped(leaves[index], bit), index, 11, good, root));
      EXPECT_FALSE(verify_inclusion(leaves[index], index, 11, good, flipped(root, bit)));
      for (std::size_t step = 0; step < good.size(); ++step) {
        Leaves bad = good;
        bad[step] = flipped(bad[step], bit);
        EXPECT_FALSE(verify_inclusion(leaves[index], index, 11, bad, root));
      }
    }
    Leaves longer = good;
    longer.push_back(root);
    EXPECT_FALSE(verify_inclusion(leaves[index], index, 11, longer, root));
    EXPECT_FALSE(
        verify_inclusion(leaves[index], index, 11, View(good).first(good.size() - 1), root));
  }
}

TEST(Merkle, MutatedConsistency_DoesNotVerify) {
  const Leaves leaves = make_leaves(13);
  const Digest second = mth(leaves);
  for (std::uint64_t size = 1; size < leaves.size(); ++size) {
    const Digest first = mth(View(leaves).first(size));
    const Leaves good = subproof(size, leaves, true);
    ASSERT_TRUE(verify_consistency(size, 13, first, second, good));
    EXPECT_FALSE(verify_consistency(size, 13, flipped(first, 3), second, good));
    EXPECT_FALSE(verify_consistency(size, 13, first, flipped(second, 3), good));
    EXPECT_FALSE(verify_consistency(size, 13, second, first, good));
    for (std::size_t step = 0; step < good.size(); ++step) {
      Leaves bad = good;
      bad[step] = flipped(bad[step], 200);
      EXPECT_FALSE(verify_consistency(size, 13, first, second, bad));
      bad = good;
      bad.erase(bad.begin() + static_cast<std::ptrdiff_t>(step));
      EXPECT_FALSE(verify_consistency(size, 13, first, second, bad));
    }
    Leaves longer = good;
    longer.push_back(second);
    EXPECT_FALSE(verify_consistency(size, 13, first, second, longer));
  }
}

TEST(Merkle, SizeZeroOrShrinking_ProvesNothing) {
  const Leaves leaves = make_leaves(3);
  const Digest root = mth(leaves);
  EXPECT_EQ(code_of(verify_consistency(0, 3, merkle_empty(kHash), root, {})), "proof-invalid");
  EXPECT_EQ(code_of(verify_consistency(0, 0, merkle_empty(kHash), merkle_empty(kHash), {})),
            "proof-invalid");
  EXPECT_EQ(code_of(verify_consistency(3, 2, root, root, {})), "proof-invalid");
  EXPECT_EQ(code_of(verify_consistency(3, 3, root, root, leaves)), "proof-invalid");
  EXPECT_EQ(code_of(verify_consistency(2, 3, root, root, {})), "proof-invalid");
  EXPECT_EQ(code_of(consistency_ranges(0, 3)), "invalid-parameter");
  EXPECT_EQ(code_of(consistency_ranges(4, 3)), "invalid-parameter");
  EXPECT_EQ(code_of(inclusion_ranges(3, 3)), "invalid-parameter");
  EXPECT_EQ(code_of(inclusion_ranges(0, 0)), "invalid-parameter");
}

TEST(Merkle, DigestsOfAnotherAlgorithm_AreRefused) {
  const Leaves leaves = make_leaves(2);
  const Digest foreign = sha(HashAlgorithm::kSha384, as_bytes("x"));
  EXPECT_FALSE(verify_inclusion(leaves[0], 0, 2, Leaves{foreign}, mth(leaves)));
  EXPECT_FALSE(verify_consistency(1, 2, leaves[0], mth(leaves), Leaves{foreign}));
}

TEST(Merkle, HugeSizes_DoNotOverflow) {
  constexpr std::uint64_t kHuge = UINT64_MAX;
  const Digest leaf = sha256(as_bytes("x"));
  const auto ranges = inclusion_ranges(kHuge - 1, kHuge);
  ASSERT_TRUE(ranges);
  EXPECT_EQ(ranges->size(), 63U);
  EXPECT_FALSE(verify_inclusion(leaf, kHuge - 1, kHuge, Leaves(63, leaf), leaf));
  EXPECT_FALSE(verify_consistency(kHuge - 1, kHuge, leaf, leaf, Leaves(64, leaf)));
}

}  // namespace
}  // namespace assay
