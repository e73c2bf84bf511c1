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

// The pairs of nodes that one level of the tree joins, over all segments of a launch.
struct TreeLevel {
  std::uint32_t level;
  std::uint32_t pairs;
  // first_pair[s] is the first pair of segment s. `first_pair` has one element more than there are
  // segments.
  std::vector<std::uint32_t> first_pair;
};

// Returns the levels of several trees, bottom first. The leaves of each tree are in consecutive
// slots. `first_slot` has one element more than there are trees; the last element is the number of
// all slots. The time grows with trees times levels.
[[nodiscard]] std::vector<TreeLevel> tree_levels(std::span<const std::uint32_t> first_slot);

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

  // Returns the levels to compute, bottom first. The time grows with segments times levels.
  [[nodiscard]] std::vector<TreeLevel> levels() const { return tree_levels(first_slot_); }

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
