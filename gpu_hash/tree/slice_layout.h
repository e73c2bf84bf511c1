// SPDX-License-Identifier: Apache-2.0
// The positions of the segments (fold.h) of one launch in device memory, as the tables that
// opencl/kernels/tree.cl reads. A slot is the place of one chunk's digest. Does not depend on
// OpenCL.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu_hash/tree/fold.h"

namespace assay::gpu_hash {

// Levels of the tree that one launch joins, over all segments. The launch works on blocks: block b
// of a segment has the nodes b * 2^levels to (b + 1) * 2^levels - 1 of `level`, as far as there are
// so many, and becomes one node.
struct TreeLevels {
  std::uint32_t level;   // the lowest one
  std::uint32_t levels;  // how many, at most kLevelsAtOnce
  std::uint32_t blocks;
  // first_block[s] is the first block of segment s. `first_block` has one element more than there
  // are segments. A segment that is a single node already has no blocks.
  std::vector<std::uint32_t> first_block;
};

// A launch of its own for each level would cost more time than its work: near the root there is
// little of it.
inline constexpr std::uint32_t kLevelsAtOnce = 8;

// Returns the launches that join several trees, bottom first. The leaves of each tree are in
// consecutive slots. `first_slot` has one element more than there are trees; the last element is
// the number of all slots. The time grows with trees times launches.
[[nodiscard]] std::vector<TreeLevels> tree_levels(std::span<const std::uint32_t> first_slot);

// Collects segments until a launch is full. Not thread-safe.
class SliceLayout {
 public:
  struct Limits {
    std::uint64_t bytes;      // of data
    std::uint32_t slots;      // chunks
    std::uint32_t alignment;  // of each segment's first byte, a power of two
  };

  SliceLayout(std::uint32_t chunk_size, Limits limits)
      : chunk_size_(chunk_size), limits_(limits), first_slot_{0} {}

  void clear();
  [[nodiscard]] bool empty() const { return segments_.empty(); }
  // Adds a segment. Returns false and changes nothing when the segment does not fit.
  [[nodiscard]] bool add(const Segment& segment);

  [[nodiscard]] std::span<const Segment> segments() const { return segments_; }
  // Returns offset and size of each segment's data, in bytes: two elements per segment.
  [[nodiscard]] std::span<const std::uint64_t> extents() const { return extents_; }
  // Returns the index of the first segment that ends after byte `offset` of the data memory.
  [[nodiscard]] std::size_t find(std::uint64_t offset) const;
  // Returns the first slot of each segment, followed by the number of all slots.
  [[nodiscard]] std::span<const std::uint32_t> first_slot() const { return first_slot_; }
  [[nodiscard]] std::uint32_t slots() const { return first_slot_.back(); }
  // Returns the used bytes of data memory, including gaps.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  // Returns the bytes of the segments, without gaps.
  [[nodiscard]] std::uint64_t payload() const { return payload_; }

  // Returns tree_levels() of its segments.
  [[nodiscard]] std::vector<TreeLevels> levels() const { return tree_levels(first_slot_); }

 private:
  std::uint32_t chunk_size_;
  Limits limits_;
  std::vector<Segment> segments_;
  std::vector<std::uint64_t> extents_;
  std::vector<std::uint32_t> first_slot_;
  std::uint64_t bytes_ = 0;
  std::uint64_t payload_ = 0;
};

}  // namespace assay::gpu_hash
