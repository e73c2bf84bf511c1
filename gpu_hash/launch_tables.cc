// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/launch_tables.h"

#include "gpu_hash/slice_layout.h"

namespace assay::gpu_hash {

std::uint32_t LaunchTables::begin() {
  if (words_.size() % 2 != 0) {
    words_.push_back(0);
  }
  return static_cast<std::uint32_t>(words_.size());
}

std::uint32_t LaunchTables::add(std::span<const std::uint32_t> words) {
  const std::uint32_t at = begin();
  words_.insert(words_.end(), words.begin(), words.end());
  return at;
}

void LaunchTables::reserve(std::size_t runs, std::size_t segments) {
  constexpr std::size_t kWordsPerRun = 6;
  constexpr std::size_t kWordsPerSegment = 4;  // most have few levels
  words_.reserve(words_.size() + kWordsPerRun * (runs + 2) + kWordsPerSegment * (segments + 2));
}

RunTables LaunchTables::add_runs(std::span<const Run> runs, std::uint32_t chunk_size) {
  RunTables tables;
  tables.runs = static_cast<std::uint32_t>(runs.size());
  tables.at_extents = begin();
  tables.at_first_slot = tables.at_extents + 4 * tables.runs;
  words_.resize(tables.at_first_slot + tables.runs + 1);
  std::uint32_t* extent = words_.data() + tables.at_extents;
  std::uint32_t* first_slot = words_.data() + tables.at_first_slot;
  for (const Run& run : runs) {
    for (const std::uint64_t value : {run.offset, run.size}) {
      *extent++ = static_cast<std::uint32_t>(value);
      *extent++ = static_cast<std::uint32_t>(value >> 32);
    }
    *first_slot++ = tables.slots;
    tables.slots += static_cast<std::uint32_t>((run.size + chunk_size - 1) / chunk_size);
  }
  *first_slot = tables.slots;
  tables.at_buffers = begin();
  for (const Run& run : runs) {
    words_.push_back(run.buffer);
  }
  return tables;
}

SegmentTables LaunchTables::add_segments(std::span<const std::uint32_t> first_slot) {
  SegmentTables tables;
  tables.at_first_slot = add(first_slot);
  tables.segments = static_cast<std::uint32_t>(first_slot.size() - 1);
  for (const TreeLevel& level : tree_levels(first_slot)) {
    tables.levels.push_back({add(level.first_pair), level.pairs, level.level});
  }
  return tables;
}

}  // namespace assay::gpu_hash
