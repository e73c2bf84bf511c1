// SPDX-License-Identifier: Apache-2.0
#include "schemas/core/merkle.h"

#include <array>
#include <bit>

#include "schemas/core/sha.h"

namespace assay {
namespace {

constexpr std::array<std::uint8_t, 1> kLeafPrefix = {0x00};
constexpr std::array<std::uint8_t, 1> kNodePrefix = {0x01};

std::unexpected<Error> invalid_proof(const char* why) {
  return fail(ErrorCode::kProofInvalid, why);
}

// Section 2.1.1: k, the largest power of two smaller than n (n > 1).
std::uint64_t split(std::uint64_t n) { return std::bit_floor(n - 1); }

// Section 2.1.4.1 SUBPROOF(m, D[begin:end], complete).
void subproof(std::uint64_t m, LeafRange tree, bool complete, std::vector<LeafRange>& out) {
  const std::uint64_t n = tree.end - tree.begin;
  if (m == n) {
    if (!complete) {
      out.push_back(tree);
    }
    return;
  }
  const std::uint64_t k = split(n);
  const LeafRange left{tree.begin, tree.begin + k};
  const LeafRange right{tree.begin + k, tree.end};
  if (m <= k) {
    subproof(m, left, complete, out);
    out.push_back(right);
  } else {
    subproof(m - k, right, false, out);
    out.push_back(left);
  }
}

}  // namespace

Digest merkle_empty(HashAlgorithm algorithm) { return sha(algorithm, ByteView{}); }

Digest merkle_leaf(HashAlgorithm algorithm, ByteView data) {
  return sha(algorithm, {kLeafPrefix, data});
}

Digest merkle_node(const Digest& left, const Digest& right) {
  return sha(left.algorithm(), {kNodePrefix, left.bytes(), right.bytes()});
}

Digest merkle_root(HashAlgorithm algorithm, std::span<const Digest> leaves) {
  MerkleAccumulator accumulator(algorithm);
  for (const Digest& leaf : leaves) {
    accumulator.append(leaf);
  }
  return accumulator.root();
}

void MerkleAccumulator::append(const Digest& leaf) {
  Digest node = leaf;
  for (std::uint64_t merged = size_; (merged & 1U) != 0; merged >>= 1) {
    node = merkle_node(peaks_.back(), node);
    peaks_.pop_back();
  }
  peaks_.push_back(node);
  ++size_;
}

Digest MerkleAccumulator::root() const {
  return peaks_.empty() ? merkle_empty(algorithm_) : merkle_fold(peaks_);
}

Result<std::vector<LeafRange>> inclusion_ranges(std::uint64_t index, std::uint64_t size) {
  if (index >= size) {
    return fail(ErrorCode::kInvalidParameter, "the leaf index must be below the tree size");
  }
  std::vector<LeafRange> path;
  LeafRange tree{0, size};
  while (tree.end - tree.begin > 1) {
    const std::uint64_t middle = tree.begin + split(tree.end - tree.begin);
    const LeafRange left{tree.begin, middle};
    const LeafRange right{middle, tree.end};
    path.push_back(index < middle ? right : left);
    tree = index < middle ? left : right;
  }
  return std::vector<LeafRange>(path.rbegin(), path.rend());
}

Result<std::vector<LeafRange>> consistency_ranges(std::uint64_t first, std::uint64_t second) {
  if (first == 0 || first > second) {
    return fail(ErrorCode::kInvalidParameter, "sizes must satisfy 0 < first <= second");
  }
  std::vector<LeafRange> out;
  subproof(first, {0, second}, true, out);
  return out;
}

std::vector<LeafRange> complete_subtrees(LeafRange range) {
  std::vector<LeafRange> parts;
  while (range.begin < range.end) {
    const std::uint64_t length = std::bit_floor(range.end - range.begin);
    parts.push_back({range.begin, range.begin + length});
    range.begin += length;
  }
  return parts;
}

Digest merkle_fold(std::span<const Digest> parts) {
  Digest node = parts.back();
  for (std::size_t i = parts.size() - 1; i-- > 0;) {
    node = merkle_node(parts[i], node);
  }
  return node;
}

Result<std::vector<Digest>> inclusion_path(HashAlgorithm algorithm, std::span<const Digest> leaves,
                                           std::uint64_t index) {
  ASSAY_ASSIGN(const auto ranges, inclusion_ranges(index, leaves.size()));
  std::vector<Digest> path;
  for (const LeafRange& range : ranges) {
    path.push_back(merkle_root(algorithm, leaves.subspan(range.begin, range.end - range.begin)));
  }
  return path;
}

Status verify_inclusion(const Digest& leaf, std::uint64_t index, std::uint64_t size,
                        std::span<const Digest> path, const Digest& root) {
  if (index >= size) {
    return invalid_proof("the leaf index is not below the tree size");
  }
  std::uint64_t fn = index;
  std::uint64_t sn = size - 1;
  Digest node = leaf;
  for (const Digest& sibling : path) {
    if (sn == 0 || sibling.algorithm() != root.algorithm()) {
      return invalid_proof("the inclusion path is too long or of another algorithm");
    }
    if ((fn & 1U) != 0 || fn == sn) {
      node = merkle_node(sibling, node);
      while ((fn & 1U) == 0 && fn != 0) {
        fn >>= 1;
        sn >>= 1;
      }
    } else {
      node = merkle_node(node, sibling);
    }
    fn >>= 1;
    sn >>= 1;
  }
  if (sn != 0 || node != root) {
    return invalid_proof("the inclusion path does not lead to the root");
  }
  return {};
}

Status verify_consistency(std::uint64_t first, std::uint64_t second, const Digest& first_root,
                          const Digest& second_root, std::span<const Digest> proof) {
  if (first == 0 || first > second) {
    return invalid_proof("sizes must satisfy 0 < first <= second");
  }
  if (first == second) {
    return proof.empty() && first_root == second_root
               ? Status{}
               : Status(invalid_proof("two trees of one size have different roots"));
  }
  std::vector<Digest> path(proof.begin(), proof.end());
  if (std::has_single_bit(first)) {
    path.insert(path.begin(), first_root);
  }
  if (path.empty()) {
    return invalid_proof("the consistency proof is empty");
  }
  std::uint64_t fn = first - 1;
  std::uint64_t sn = second - 1;
  while ((fn & 1U) != 0) {
    fn >>= 1;
    sn >>= 1;
  }
  Digest fr = path.front();
  Digest sr = path.front();
  for (std::size_t i = 1; i < path.size(); ++i) {
    const Digest& c = path[i];
    if (sn == 0 || c.algorithm() != first_root.algorithm()) {
      return invalid_proof("the consistency proof is too long or of another algorithm");
    }
    if ((fn & 1U) != 0 || fn == sn) {
      fr = merkle_node(c, fr);
      sr = merkle_node(c, sr);
      while ((fn & 1U) == 0 && fn != 0) {
        fn >>= 1;
        sn >>= 1;
      }
    } else {
      sr = merkle_node(sr, c);
    }
    fn >>= 1;
    sn >>= 1;
  }
  if (sn != 0 || fr != first_root || sr != second_root) {
    return invalid_proof("the consistency proof does not connect the two roots");
  }
  return {};
}

}  // namespace assay
