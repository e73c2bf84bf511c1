// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/tree/launch_tables.h"

#include <array>
#include <bit>
#include <utility>

#include "gpu_hash/tree/slice_layout.h"
#include "schemas/core/artifact.h"

namespace assay::gpu_hash {
namespace {

// Rows for the short chunks of a launch, longest first: a counting sort, because there may be
// millions. Lengths that differ by less than a 256th of a chunk count as equal.
class ShortChunks {
 public:
  explicit ShortChunks(std::uint32_t chunk_size)
      : shift_(static_cast<unsigned>(std::countr_zero(chunk_size)) - kLogClasses) {}

  void count(std::uint64_t size) {
    if (size > 0) {
      ++rows_[class_of(size)];
    }
  }
  // Turns numbers into rows from `first` on; returns how many there are.
  std::size_t start(std::size_t first) {
    std::size_t row = first;
    for (std::uint32_t& rows : rows_) {
      row += std::exchange(rows, static_cast<std::uint32_t>(row));
    }
    return row - first;
  }
  std::size_t next(std::uint64_t size) { return rows_[class_of(size)]++; }

 private:
  static constexpr unsigned kLogClasses = 8;
  static_assert(kMinChunkSize >= 1U << kLogClasses);

  [[nodiscard]] std::size_t class_of(std::uint64_t size) const {
    return (std::size_t{1} << kLogClasses) - 1 - (size >> shift_);
  }

  unsigned shift_;
  std::array<std::uint32_t, std::size_t{1} << kLogClasses> rows_{};
};

// Fills in the rows of tables that begin_runs() made room for. Pointers, because a check of each
// index takes as long as the work.
class RowWriter {
 public:
  RowWriter(std::uint32_t* words, const RunTables& tables)
      : extents_(words + tables.at_extents),
        places_(words + tables.at_places),
        first_item_(words + tables.at_first_item) {}

  void write(std::size_t row, const Run& run, std::uint32_t slot, std::uint32_t first_item) {
    std::uint32_t* extent = extents_ + 4 * row;
    extent[0] = static_cast<std::uint32_t>(run.offset);
    extent[1] = static_cast<std::uint32_t>(run.offset >> 32);
    extent[2] = static_cast<std::uint32_t>(run.size);
    extent[3] = static_cast<std::uint32_t>(run.size >> 32);
    places_[2 * row] = run.buffer;
    places_[2 * row + 1] = slot;
    first_item_[row] = first_item;
  }
  void set_first_item(std::size_t row, std::uint32_t item) { first_item_[row] = item; }

 private:
  std::uint32_t* extents_;
  std::uint32_t* places_;
  std::uint32_t* first_item_;
};

}  // namespace

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
  constexpr std::size_t kWordsPerRun = 14;     // two rows
  constexpr std::size_t kWordsPerSegment = 4;  // most have few levels
  words_.reserve(words_.size() + kWordsPerRun * (runs + 2) + kWordsPerSegment * (segments + 2));
}

RunTables LaunchTables::begin_runs(std::size_t rows) {
  RunTables tables;
  tables.runs = static_cast<std::uint32_t>(rows);
  tables.at_extents = begin();
  tables.at_places = tables.at_extents + 4 * tables.runs;
  tables.at_first_item = tables.at_places + 2 * tables.runs;
  words_.resize(tables.at_first_item + tables.runs + 1);
  return tables;
}

RunTables LaunchTables::add_runs(std::span<const Run> runs, std::uint32_t chunk_size) {
  const auto log_chunk = static_cast<unsigned>(std::countr_zero(chunk_size));
  const std::uint64_t mask = chunk_size - 1;
  ShortChunks shorts(chunk_size);
  std::size_t whole = 0;  // rows
  for (const Run& run : runs) {
    whole += run.size > mask ? 1 : 0;
    shorts.count(run.size & mask);
  }
  RunTables tables = begin_runs(whole + shorts.start(whole));
  RowWriter rows(words_.data(), tables);
  std::uint32_t slot = 0;
  std::uint32_t items = 0;
  std::size_t row = 0;
  for (const Run& run : runs) {
    const auto chunks = static_cast<std::uint32_t>(run.size >> log_chunk);
    const std::uint64_t rest = run.size & mask;
    if (chunks > 0) {
      rows.write(row++, {run.offset, run.size - rest, run.buffer}, slot, items);
      items += chunks;
    }
    slot += chunks;
    if (rest > 0) {
      rows.write(shorts.next(rest), {run.offset + run.size - rest, rest, run.buffer}, slot++, 0);
    }
  }
  for (; row <= tables.runs; ++row) {
    rows.set_first_item(row, items++);  // a short row is one chunk; the last word is their number
  }
  tables.items = slot;
  return tables;
}

SegmentTables LaunchTables::add_segments(std::span<const std::uint32_t> first_slot) {
  SegmentTables tables;
  tables.at_first_slot = add(first_slot);
  tables.segments = static_cast<std::uint32_t>(first_slot.size() - 1);
  for (const TreeLevels& one : tree_levels(first_slot)) {
    tables.levels.push_back({add(one.first_block), one.blocks, one.level, one.levels});
  }
  return tables;
}

}  // namespace assay::gpu_hash
