// SPDX-License-Identifier: Apache-2.0
// The tables of a launch, read as the kernels read them.
#include "gpu_hash/tree/launch_tables.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu_hash/tree/slice_layout.h"
#include "tests/gpu_hash/support.h"

namespace assay::gpu_hash::test {
namespace {

using Runs = std::vector<Run>;  // Run means something else inside of a test

struct Item {
  std::uint32_t buffer;
  std::uint64_t offset;  // bytes
  std::uint64_t size;    // bytes
  std::uint32_t slot;
  auto operator<=>(const Item&) const = default;
};

std::uint64_t long_word(std::span<const std::uint32_t> words, std::size_t at) {
  return words[at] | (std::uint64_t{words[at + 1]} << 32);
}

// What each work-item does, in their order (opencl/kernels/tree.cl, LEAF_BODY).
std::vector<Item> items_of(const LaunchTables& image, const RunTables& tables,
                           std::uint32_t chunk_size) {
  const auto words = image.words();
  std::vector<Item> items;
  EXPECT_EQ(words[tables.at_first_item + tables.runs], tables.items);
  for (std::uint32_t row = 0; row < tables.runs; ++row) {
    const std::uint32_t first = words[tables.at_first_item + row];
    EXPECT_EQ(first, items.size());
    const std::uint64_t size = long_word(words, tables.at_extents + 4 * row + 2);
    for (std::uint32_t chunk = 0; chunk < words[tables.at_first_item + row + 1] - first; ++chunk) {
      const std::uint64_t skip = std::uint64_t{chunk} * chunk_size;
      EXPECT_LT(skip, size);
      items.push_back({words[tables.at_places + 2 * row],
                       long_word(words, tables.at_extents + 4 * row) + skip,
                       std::min<std::uint64_t>(chunk_size, size - skip),
                       words[tables.at_places + 2 * row + 1] + chunk});
    }
  }
  return items;
}

// The same work in the order of the runs.
std::vector<Item> wanted(std::span<const Run> runs, std::uint32_t chunk_size) {
  std::vector<Item> items;
  for (const Run& run : runs) {
    for (std::uint64_t at = 0; at < run.size; at += chunk_size) {
      items.push_back({run.buffer, run.offset + at,
                       std::min<std::uint64_t>(chunk_size, run.size - at),
                       static_cast<std::uint32_t>(items.size())});
    }
  }
  return items;
}

TEST(LaunchTables, RandomRuns_EveryChunkOnceAtItsSlot) {
  Random random;
  SCOPED_TRACE(random.text());
  for (int round = 0; round < 200; ++round) {
    const std::uint32_t chunk_size = 4096U << random.below(9);
    Runs runs;
    for (std::size_t i = 1 + random.below(20); i > 0; --i) {
      const std::uint64_t size = random.below(2) == 0 ? (1 + random.below(4)) * chunk_size
                                                      : 1 + random.below(3 * chunk_size);
      runs.push_back({random.below(1U << 30) * 1024, size, static_cast<std::uint32_t>(i)});
    }
    LaunchTables image;
    (void)image.add(std::vector<std::uint32_t>(random.below(3)));  // tables begin anywhere
    const RunTables tables = image.add_runs(runs, chunk_size);
    std::vector<Item> items = items_of(image, tables, chunk_size);
    EXPECT_EQ(items.size(), tables.items);
    std::ranges::sort(items, {}, &Item::slot);
    ASSERT_EQ(items, wanted(runs, chunk_size)) << "round " << round;
  }
}

TEST(LaunchTables, ShortChunks_AreBehindWholeOnesAndTheLongestFirst) {
  constexpr std::uint32_t kChunk = 16384;
  const Runs runs = {
      {0, 100, 0}, {1U << 20, 2 * kChunk + 9000, 0}, {2U << 20, kChunk, 0}, {3U << 20, 16383, 0}};
  LaunchTables image;
  const RunTables tables = image.add_runs(runs, kChunk);
  std::vector<std::uint64_t> sizes;
  for (const Item& item : items_of(image, tables, kChunk)) {
    sizes.push_back(item.size);
  }
  EXPECT_EQ(sizes, (std::vector<std::uint64_t>{kChunk, kChunk, kChunk, 16383, 9000, 100}));
  EXPECT_EQ(tables.runs, 5U);
}

TEST(LaunchTables, WholeChunksAlone_KeepTheirRuns) {
  const Runs runs = {{0, 8192, 3}, {65536, 4096, 1}};
  LaunchTables image;
  const RunTables tables = image.add_runs(runs, 4096);
  EXPECT_EQ(tables.runs, 2U);
  EXPECT_EQ(items_of(image, tables, 4096), wanted(runs, 4096));
}

// Joins nodes as the launches say, by their positions alone: a node is the slots that it stands
// for.
TEST(LaunchTables, LaunchesOverNodes_JoinEachSegmentToOneNode) {
  const std::vector<std::uint32_t> chunks = {1, 2, 3, 255, 256, 257, 65'535, 65'536, 65'537, 1};
  std::vector<std::uint32_t> first_slot{0};
  for (const std::uint32_t count : chunks) {
    first_slot.push_back(first_slot.back() + count);
  }
  const std::vector<TreeLevels> launches = tree_levels(first_slot);
  ASSERT_EQ(launches.size(), 3U);
  std::vector<std::uint32_t> width(first_slot.back(), 1);  // by slot: chunks below its node
  std::uint32_t level = 0;
  for (const TreeLevels& launch : launches) {
    EXPECT_EQ(launch.level, level);
    EXPECT_EQ(launch.first_block.back(), launch.blocks);
    level += launch.levels;
    for (std::size_t s = 0; s < chunks.size(); ++s) {
      for (std::uint32_t b = launch.first_block[s]; b < launch.first_block[s + 1]; ++b) {
        const std::uint32_t begin = (b - launch.first_block[s]) << level;
        ASSERT_LT(begin, chunks[s]);
        for (std::uint32_t at = begin + (1U << launch.level);
             at < std::min(begin + (1U << level), chunks[s]); at += 1U << launch.level) {
          width[first_slot[s] + begin] += std::exchange(width[first_slot[s] + at], 0);
        }
      }
    }
  }
  for (std::size_t s = 0; s < chunks.size(); ++s) {
    EXPECT_EQ(width[first_slot[s]], chunks[s]);
  }
}

}  // namespace
}  // namespace assay::gpu_hash::test
