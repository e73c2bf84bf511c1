// SPDX-License-Identifier: Apache-2.0
// The tables that opencl/kernels/tree.cl reads, as one image of 32-bit words. Knows nothing of
// OpenCL.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace assay::gpu_hash {

// Bytes that lie together in one buffer and begin with a chunk.
struct Run {
  std::uint64_t offset;  // bytes in the buffer
  std::uint64_t size;    // bytes
  std::uint32_t buffer;  // its number in the launch
};

// Where the tables of one launch over runs stand in the image, in words.
struct RunTables {
  std::uint32_t at_extents = 0;
  std::uint32_t at_first_item = 0;
  std::uint32_t at_places = 0;
  std::uint32_t runs = 0;   // rows of the tables
  std::uint32_t items = 0;  // chunks
};

// Pairs of nodes that one level of the tree joins, over all segments.
struct LevelTable {
  std::uint32_t at_first_pair = 0;
  std::uint32_t pairs = 0;
  std::uint32_t level = 0;
};

struct SegmentTables {
  std::uint32_t at_first_slot = 0;
  std::uint32_t segments = 0;
  std::vector<LevelTable> levels;  // bottom first
};

// Collects tables. Not thread-safe.
class LaunchTables {
 public:
  void clear() { words_.clear(); }
  // Makes room for about as much.
  void reserve(std::size_t runs, std::size_t segments);
  // Digests stand in the order of `runs`. The work has another one: the short chunks at the ends of
  // runs are rows of their own behind all whole ones, longest first, because work-items that run in
  // lockstep take as long as the longest of them.
  [[nodiscard]] RunTables add_runs(std::span<const Run> runs, std::uint32_t chunk_size);
  // first_slot has one element more than there are segments: the number of all slots.
  [[nodiscard]] SegmentTables add_segments(std::span<const std::uint32_t> first_slot);
  // Words as they are, at an even place; returns the place.
  std::uint32_t add(std::span<const std::uint32_t> words);

  [[nodiscard]] std::span<const std::uint32_t> words() const { return words_; }
  [[nodiscard]] std::uint64_t bytes() const { return words_.size() * sizeof(std::uint32_t); }

 private:
  // 64-bit values are read in place, so tables begin at even words.
  std::uint32_t begin();
  // Room for tables of `rows`, all 0 but for the places of the tables.
  RunTables begin_runs(std::size_t rows);

  std::vector<std::uint32_t> words_;
};

}  // namespace assay::gpu_hash
