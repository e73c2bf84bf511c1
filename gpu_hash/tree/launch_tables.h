// SPDX-License-Identifier: Apache-2.0
// The tables for one launch (start of a kernel) that opencl/kernels/tree.cl reads, as one image of
// 32-bit words. A slot is the place of one chunk's digest. Does not depend on OpenCL.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace assay::gpu_hash {

// Contiguous bytes in one buffer. The first byte is the first byte of a chunk.
struct Run {
  std::uint64_t offset;  // bytes in the buffer
  std::uint64_t size;    // bytes
  std::uint32_t buffer;  // number of the buffer in the launch
};

// Positions in the image, in words, of the tables for one launch over runs.
struct RunTables {
  std::uint32_t at_extents = 0;
  std::uint32_t at_first_item = 0;
  std::uint32_t at_places = 0;
  std::uint32_t runs = 0;   // rows of the tables
  std::uint32_t items = 0;  // chunks
};

// Levels of the tree that one launch joins, over all segments (slice_layout.h).
struct LevelTable {
  std::uint32_t at_first_block = 0;
  std::uint32_t blocks = 0;
  std::uint32_t level = 0;
  std::uint32_t levels = 0;
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
  // Reserves memory for about this many runs and segments.
  void reserve(std::size_t runs, std::size_t segments);
  // Adds the tables for `runs`. Digests are stored in the order of `runs`, but the order of the
  // work differs. Short chunks at the ends of runs get rows of their own after all whole chunks,
  // longest first. The reason is that work-items in lockstep all take as long as the longest of
  // them.
  [[nodiscard]] RunTables add_runs(std::span<const Run> runs, std::uint32_t chunk_size);
  // Adds the tables for segments. `first_slot` has one element more than there are segments; the
  // last element is the number of all slots.
  [[nodiscard]] SegmentTables add_segments(std::span<const std::uint32_t> first_slot);
  // Adds `words` unchanged at an even position and returns that position.
  std::uint32_t add(std::span<const std::uint32_t> words);

  [[nodiscard]] std::span<const std::uint32_t> words() const { return words_; }
  [[nodiscard]] std::uint64_t bytes() const { return words_.size() * sizeof(std::uint32_t); }

 private:
  // Returns the position of a new table. Tables begin at even words, because 64-bit values are read
  // in place.
  std::uint32_t begin();
  // Reserves tables of `rows` rows. All words are 0 except the positions of the tables.
  RunTables begin_runs(std::size_t rows);

  std::vector<std::uint32_t> words_;
};

}  // namespace assay::gpu_hash
