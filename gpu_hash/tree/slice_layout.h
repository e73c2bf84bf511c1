// SPDX-License-Identifier: Apache-2.0
// Where the segments of one launch lie in device memory, as the tables that opencl/kernels/tree.cl
// reads. Knows nothing of OpenCL.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu_hash/tree/fold.h"

namespace assay::gpu_hash {

// Pairs of nodes that one level of the tree joins, over all segments of a launch.
struct TreeLevel {
  std::uint32_t level;
  std::uint32_t pairs;
  // first_pair[s] is the first pair of segment s; one element more than there are segments.
  std::vector<std::uint32_t> first_pair;
};

// The levels of the trees over runs of slots, bottom first. first_slot has one element more than
// there are trees: the number of all slots. Time follows trees times levels.
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
  // Adds a segment; false when it no longer fits, and then nothing changes.
  [[nodiscard]] bool add(const Segment& segment);

  [[nodiscard]] std::span<const Segment> segments() const { return segments_; }
  // Offset and size of each segment's data, in bytes: two elements a segment.
  [[nodiscard]] std::span<const std::uint64_t> extents() const { return extents_; }
  // The first segment that ends behind byte `offset` of the data memory.
  [[nodiscard]] std::size_t find(std::uint64_t offset) const;
  // First slot of each segment, and the number of slots at the end.
  [[nodiscard]] std::span<const std::uint32_t> first_slot() const { return first_slot_; }
  [[nodiscard]] std::uint32_t slots() const { return first_slot_.back(); }
  // Bytes of data memory in use, gaps included.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  // Bytes of the segments.
  [[nodiscard]] std::uint64_t payload() const { return payload_; }

  // The levels to compute, bottom first. Time follows segments times levels.
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
