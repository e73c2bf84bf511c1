// SPDX-License-Identifier: Apache-2.0
// Positions of digests in the tables, and the digests of a log of raw entries.
#include "storage/sqlite/log_tables.h"

#include <gtest/gtest.h>

#include "schemas/core/sha.h"
#include "schemas/tiles.h"
#include "storage/sqlite/database_file.h"
#include "tests/storage/store_contract.h"
#include "tests/support/vectors.h"

namespace assay::storage {
namespace {

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
