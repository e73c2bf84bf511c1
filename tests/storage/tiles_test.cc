// SPDX-License-Identifier: Apache-2.0
// Tile addresses and bundles against tests/vectors/log.json, and the digests of a log of raw
// entries.
#include "storage/tiles.h"

#include <map>

#include <gtest/gtest.h>

#include "schemas/core/sha.h"
#include "storage/sqlite/database_file.h"
#include "storage/sqlite/log_tables.h"
#include "tests/storage/store_contract.h"
#include "tests/support/vectors.h"

namespace assay::storage {
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
                           "tile/0/x999/x999/x999/x999/x999/x999/x999/999",
                           "tile/0/000.P/1",
                           "tile/0/000.p/1.p/1"}) {
    const auto tile = parse_tile_path(path);
    ASSERT_FALSE(tile) << path;
    EXPECT_EQ(tile.error().code, ErrorCode::kNotFound);
  }
}

TEST(TilesOf, Vectors_CountsPerLevel) {
  const Json vectors = assay::test::load_vectors("log.json");
  for (const Json& vector : vectors["tile_counts"]) {
    const auto size = vector["size"].get<std::uint64_t>();
    if (size > 2000000) {
      continue;  // the list would be long
    }
    std::map<unsigned, std::uint64_t> full;
    std::size_t partial = 0;
    for (const TileAddress& tile : tiles_of(size)) {
      if (tile.level) {
        full[*tile.level] += tile.width == kTileWidth ? 1 : 0;
        partial += tile.width < kTileWidth ? 1 : 0;
        EXPECT_TRUE(check_tile(size, *tile.level, tile.index, tile.width));
      }
    }
    EXPECT_EQ(partial, vector["partial"].size()) << size;
    for (std::size_t level = 0; level < vector["full"].size(); ++level) {
      EXPECT_EQ(full[static_cast<unsigned>(level)], vector["full"][level].get<std::uint64_t>())
          << size << " level " << level;
    }
  }
}

TEST(Bundle, Entries_ComeBackAndCutOnesAreRefused) {
  const std::vector<Bytes> entries = {{}, {1}, Bytes(65535, 7)};
  Bytes bundle;
  for (const Bytes& entry : entries) {
    append_bundle_entry(bundle, entry);
  }
  EXPECT_EQ(parse_bundle(bundle), entries);
  for (const std::size_t size : {std::size_t{1}, std::size_t{4}, bundle.size() - 1}) {
    const auto cut = parse_bundle(ByteView(bundle).first(size));
    ASSERT_FALSE(cut) << size;
    EXPECT_EQ(cut.error().code, ErrorCode::kInvalidEncoding);
  }
}

TEST(NodePosition, FirstNodes_CountUpAsTheyAreCompleted) {
  std::uint64_t expected = 0;
  for (std::uint64_t leaf = 0; leaf < 1000; ++leaf) {
    unsigned level = 0;
    EXPECT_EQ(sqlite::node_position(0, leaf), expected++);
    for (std::uint64_t index = leaf; (index & 1U) != 0; index >>= 1) {
      ++level;
      EXPECT_EQ(sqlite::node_position(level, index >> 1), expected++);
    }
    EXPECT_EQ(sqlite::node_count(leaf + 1), expected);
  }
}

// tiles_300 is about entries that are no records, so it is checked on the digests in the tables.
TEST(LogTables, ThreeHundredEntries_GiveTheTilesOfTheVectors) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/log.db";
  ASSERT_TRUE(sqlite::prepare_file(path, true));
  auto connection = sqlite::Connection::open(path, sqlite::Connection::Mode::kReadWrite).value();
  ASSERT_TRUE(sqlite::migrate(*connection));
  ASSERT_TRUE(connection->query(sqlite::Sql::kBeginWrite).run());
  sqlite::LogFrontier frontier;
  for (int i = 0; i < 300; ++i) {
    const std::string entry = "entry-" + std::to_string(i);
    ASSERT_TRUE(sqlite::append_nodes(*connection, frontier, as_bytes(entry)));
  }
  const LogState state{300, frontier.root(), {}};
  const Json vectors = assay::test::load_vectors("log.json");
  std::size_t compared = 0;
  for (const auto& [name, digest] : vectors["tiles_300"].items()) {
    const TileAddress tile = parse_tile_path(name).value();
    if (tile.level) {
      const auto bytes =
          sqlite::load_tile(*connection, state, *tile.level, tile.index, tile.width).value();
      EXPECT_EQ(sha256(bytes).hex(), digest.get<std::string>()) << name;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 3U);
}

}  // namespace
}  // namespace assay::storage
