// SPDX-License-Identifier: Apache-2.0
// RFC 9162 section 2.1: Merkle trees over leaf hashes, their proofs, and where the parts of a proof
// lie in a tree that is stored by complete subtrees. Used by artifacts, outlines and the log alike.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "schemas/core/digest.h"
#include "schemas/core/error.h"

namespace assay {

// Section 2.1.1: H(""), H(0x00 || data), H(0x01 || left || right).
[[nodiscard]] Digest merkle_empty(HashAlgorithm algorithm);
[[nodiscard]] Digest merkle_leaf(HashAlgorithm algorithm, ByteView data);
[[nodiscard]] Digest merkle_node(const Digest& left, const Digest& right);

// Root over leaf hashes; merkle_empty for none. All leaves use `algorithm`.
[[nodiscard]] Digest merkle_root(HashAlgorithm algorithm, std::span<const Digest> leaves);

// Root built leaf by leaf in O(log n) memory (section 2.1.2).
class MerkleAccumulator {
 public:
  explicit MerkleAccumulator(HashAlgorithm algorithm) : algorithm_(algorithm) {}
  // `leaf` may also be the digest of a complete subtree when every call passes the same height.
  void append(const Digest& leaf);
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] Digest root() const;

 private:
  HashAlgorithm algorithm_;
  std::uint64_t size_ = 0;
  std::vector<Digest> peaks_;  // roots of complete subtrees, largest first
};

// A run of leaves [begin, end) whose subtree hash MTH(D[begin:end]) a proof needs.
struct LeafRange {
  std::uint64_t begin;
  std::uint64_t end;
  auto operator<=>(const LeafRange&) const = default;
};

// Section 2.1.3.1 PATH(index, D_size) and section 2.1.4.1 PROOF(first, D_second), as the runs of
// leaves to hash, in the order of the proof. invalid-parameter unless index < size, and
// 0 < first <= second.
[[nodiscard]] Result<std::vector<LeafRange>> inclusion_ranges(std::uint64_t index,
                                                              std::uint64_t size);
[[nodiscard]] Result<std::vector<LeafRange>> consistency_ranges(std::uint64_t first,
                                                                std::uint64_t second);

// The complete, aligned subtrees that make up `range`, largest first. A store that keeps the
// digests of complete subtrees answers any range from these with merkle_fold.
[[nodiscard]] std::vector<LeafRange> complete_subtrees(LeafRange range);
// Hash of a range from the digests of its complete_subtrees; `parts` must not be empty.
[[nodiscard]] Digest merkle_fold(std::span<const Digest> parts);

// Inclusion path of leaf `index` when all leaf hashes are at hand.
[[nodiscard]] Result<std::vector<Digest>> inclusion_path(HashAlgorithm algorithm,
                                                         std::span<const Digest> leaves,
                                                         std::uint64_t index);

// Section 2.1.3.2. proof-invalid when the path does not lead from `leaf` at `index` to `root`.
[[nodiscard]] Status verify_inclusion(const Digest& leaf, std::uint64_t index, std::uint64_t size,
                                      std::span<const Digest> path, const Digest& root);
// Section 2.1.4.2. proof-invalid when the proof does not show that the tree with `first_root` is a
// prefix; a first size of 0 proves nothing and is refused.
[[nodiscard]] Status verify_consistency(std::uint64_t first, std::uint64_t second,
                                        const Digest& first_root, const Digest& second_root,
                                        std::span<const Digest> proof);

}  // namespace assay
