// SPDX-License-Identifier: Apache-2.0
// Tile addresses and bundles against tests/vectors/log.json, and at their limits.
#include "schemas/tiles.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "tests/support/vectors.h"

namespace assay {
namespace {

TEST(TilePath, Vectors_AreWrittenAndRead) {
  const Json vectors = assay::test::load_vectors("log.json");
  ASSERT_FALSE(vectors["tile_paths"].empty());
  for (const Json& vector : vectors["tile_paths"]) {
    TileAddress tile{std::nullopt, vector["index"].get<std::uint64_t>(),
                     vector["width"].get<unsigned>()};
    if (vector["level"].is_number()) {
      tile.level = vector["level"].get<unsigned>();
    }
    const auto path = vector["path"].get<std::string>();
    EXPECT_EQ(tile_path(tile), path);
    EXPECT_EQ(parse_tile_path(path), tile) << path;
  }
}

TEST(TilePath, OtherSpellings_AreNotFound) {
  for (const char* path : {"",
                           "tile",
                           "tile/",
                           "tile/0",
                           "tile/0/",
                           "tile/00/000",
                           "tile/64/000",
                           "tile/-1/000",
                           "tile/+1/000",
                           "tile/0/0",
                           "tile/0/00",
                           "tile/0/0000",
                           "tile/0/x000",
                           "tile/0/x000/000",
                           "tile/0/x1/000",
                           "tile/0/x001000",
                           "tile/0/001/x002",
                           "tile/0/x001/",
                           "tile/0/000/",
                           "tile/0/000.p",
                           "tile/0/000.p/",
                           "tile/0/000.p/0",
                           "tile/0/000.p/256",
                           "tile/0/000.p/01",
                           "tile/0/000.p/-1",
                           "tile/0/000.p/1/",
                           "tile/0/ 00",
                           "tile/0/-01",
                           "tile/0/+01",
                           "tile/entries",
                           "tile/entries/",
                           "tile/Entries/000",
                           "/tile/0/000",
                           "tile//000",
                           "tile/0/x001/x000/x000/x000/x000/x000/000",
                           "tile/0/x999/x999/x999/x999/x999/x999/x999/999",
                           "tile/0/X001/234",
                           "tile/0/0x1",
                           "tile/0/x001/23",
                           "tile/0/x001/2345",
                           "tile/0/000.P/1",
                           "tile/0/000.p/1.p/1"}) {
    const auto tile = parse_tile_path(path);
    ASSERT_FALSE(tile) << path;
    EXPECT_EQ(tile.error().code, ErrorCode::kNotFound);
  }
}

TEST(TilePath, LargestLevelAndIndex_AreRead) {
  const TileAddress last{kMaxTileLevel, kMaxTileIndex};
  EXPECT_EQ(tile_path(last), "tile/63/x999/x999/x999/x999/x999/999");
  EXPECT_EQ(parse_tile_path(tile_path(last)), last);
  EXPECT_FALSE(parse_tile_path(tile_path({kMaxTileLevel + 1, 0})));
  EXPECT_FALSE(parse_tile_path(tile_path({0, kMaxTileIndex + 1})));
  // No log is too large for them.
  EXPECT_LT(~TreeSize{0} / kTileWidth, kMaxTileIndex);
}

TEST(EachTile, Vectors_CountsPerLevel) {
  const Json vectors = assay::test::load_vectors("log.json");
  ASSERT_FALSE(vectors["tile_counts"].empty());
  for (const Json& vector : vectors["tile_counts"]) {
    const auto size = vector["size"].get<std::uint64_t>();
    if (size > 2000000) {
      continue;  // there would be many
    }
    std::map<unsigned, std::uint64_t> full;
    std::size_t partial = 0;
    std::uint64_t entries = 0;
    std::optional<TileAddress> before;
    ASSERT_TRUE(for_each_tile(size, [&](const TileAddress& tile) -> Status {
      if (tile.level) {
        full[*tile.level] += tile.width == kTileWidth ? 1 : 0;
        partial += tile.width < kTileWidth ? 1 : 0;
        EXPECT_TRUE(check_tile(size, *tile.level, tile.index, tile.width));
      } else {
        EXPECT_EQ(before, (TileAddress{0, tile.index, tile.width}));
        entries += tile.width;
      }
      before = tile;
      return {};
    }));
    EXPECT_EQ(entries, size);
    EXPECT_EQ(partial, vector["partial"].size()) << size;
    for (std::size_t level = 0; level < vector["full"].size(); ++level) {
      EXPECT_EQ(full[static_cast<unsigned>(level)], vector["full"][level].get<std::uint64_t>())
          << size << " level " << level;
    }
  }
}

TEST(EachTile, LargestLog_StopsAtTheFirstError) {
  std::uint64_t calls = 0;
  const Status status = for_each_tile(~TreeSize{0}, [&calls](const TileAddress&) -> Status {
    return ++calls < 3 ? Status() : fail(ErrorCode::kNotFound, "no more");
  });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().detail, "no more");
  EXPECT_EQ(calls, 3U);
}

TEST(Bundle, Entries_ComeBackAndCutOnesAreRefused) {
  const std::vector<Bytes> entries = {{}, {1}, Bytes(65535, 7)};
  Bytes bundle;
  for (const Bytes& entry : entries) {
    append_bundle_entry(bundle, entry);
  }
  const auto parsed = parse_bundle(bundle);
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(std::ranges::equal(
      *parsed, entries, [](ByteView a, const Bytes& b) { return std::ranges::equal(a, b); }));
  for (const std::size_t size : {std::size_t{1}, std::size_t{4}, bundle.size() - 1}) {
    const auto cut = parse_bundle(ByteView(bundle).first(size));
    ASSERT_FALSE(cut) << size;
    EXPECT_EQ(cut.error().code, ErrorCode::kLogInconsistent);
  }
}

TEST(Bundle, MoreThan256Entries_AreRefused) {
  EXPECT_EQ(parse_bundle({})->size(), 0U);
  EXPECT_EQ(parse_bundle(Bytes(2 * kTileWidth))->size(), kTileWidth);
  const auto more = parse_bundle(Bytes(2 * kTileWidth + 2));
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, ErrorCode::kLogInconsistent);
}

}  // namespace
}  // namespace assay
