// SPDX-License-Identifier: Apache-2.0
// Merkle trees of RFC 9162 section 2.1: roots over leaf hashes, and proofs. Some functions also
// tell which subtrees a proof consists of, for a tree that is stored as complete subtrees.
// Artifacts, outlines (schemas/core/outline.h) and the log use these functions.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "schemas/core/digest.h"
#include "schemas/core/error.h"

namespace assay {

// Return the hashes of section 2.1.1: H(""), H(0x00 || data), H(0x01 || left || right).
[[nodiscard]] Digest merkle_empty(HashAlgorithm algorithm);
[[nodiscard]] Digest merkle_leaf(HashAlgorithm algorithm, ByteView data);
[[nodiscard]] Digest merkle_node(const Digest& left, const Digest& right);

// Returns the root over leaf hashes; merkle_empty() when there are none. All leaves use
// `algorithm`.
[[nodiscard]] Digest merkle_root(HashAlgorithm algorithm, std::span<const Digest> leaves);

// A root that is built leaf by leaf in O(log n) memory (section 2.1.2).
class MerkleAccumulator {
 public:
  explicit MerkleAccumulator(HashAlgorithm algorithm) : algorithm_(algorithm) {}
  // Adds a leaf. `leaf` may also be the digest of a complete subtree, if every call passes a
  // subtree of the same height.
  void append(const Digest& leaf);
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] Digest root() const;

 private:
  HashAlgorithm algorithm_;
  std::uint64_t size_ = 0;
  std::vector<Digest> peaks_;  // roots of complete subtrees, largest first
};

// A run of leaves [begin, end) whose subtree hash MTH(D[begin:end]) is part of a proof.
struct LeafRange {
  std::uint64_t begin;
  std::uint64_t end;
  auto operator<=>(const LeafRange&) const = default;
};

// Return PATH(index, D_size) of section 2.1.3.1 and PROOF(first, D_second) of section 2.1.4.1, as
// the runs of leaves to hash, in the order of the proof. Errors: invalid-parameter unless index <
// size (inclusion) or 0 < first <= second (consistency).
[[nodiscard]] Result<std::vector<LeafRange>> inclusion_ranges(std::uint64_t index,
                                                              std::uint64_t size);
[[nodiscard]] Result<std::vector<LeafRange>> consistency_ranges(std::uint64_t first,
                                                                std::uint64_t second);

// Returns the complete, aligned subtrees that make up `range`, largest first. A store that keeps
// the digests of complete subtrees can compute the hash of any range from them with merkle_fold().
[[nodiscard]] std::vector<LeafRange> complete_subtrees(LeafRange range);
// Returns the hash of a range from the digests of its complete_subtrees(). `parts` must not be
// empty.
[[nodiscard]] Digest merkle_fold(std::span<const Digest> parts);

// Returns the inclusion path of leaf `index` from all leaf hashes.
[[nodiscard]] Result<std::vector<Digest>> inclusion_path(HashAlgorithm algorithm,
                                                         std::span<const Digest> leaves,
                                                         std::uint64_t index);

// Verifies an inclusion path (section 2.1.3.2). Errors: proof-invalid when the path does not lead
// from `leaf` at `index` to `root`.
[[nodiscard]] Status verify_inclusion(const Digest& leaf, std::uint64_t index, std::uint64_t size,
                                      std::span<const Digest> path, const Digest& root);
// Verifies a consistency proof (section 2.1.4.2). Errors: proof-invalid when the proof does not
// show that the tree with `first_root` is a prefix, or when `first` is 0.
[[nodiscard]] Status verify_consistency(std::uint64_t first, std::uint64_t second,
                                        const Digest& first_root, const Digest& second_root,
                                        std::span<const Digest> proof);

}  // namespace assay
