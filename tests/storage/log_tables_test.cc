// SPDX-License-Identifier: Apache-2.0
// The digests of a log of raw entries and of records, as the tables give them back.
#include "storage/sqlite/log_tables.h"

#include <gtest/gtest.h>

#include "schemas/checkpoint.h"
#include "schemas/core/bytes.h"
#include "schemas/core/sha.h"
#include "schemas/tiles.h"
#include "storage/sqlite/database_file.h"
#include "tests/storage/store_contract.h"
#include "tests/support/vectors.h"

namespace assay::storage {
namespace {

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

// The records of the reference implementation's mirror, whose times no store would write, give its
// checkpoint and its tiles byte for byte.
TEST(LogTables, RecordsOfTheVectors_GiveCheckpointAndTilesOfTheVectors) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/log.db";
  ASSERT_TRUE(sqlite::prepare_file(path, true));
  auto connection = sqlite::Connection::open(path, sqlite::Connection::Mode::kReadWrite).value();
  ASSERT_TRUE(sqlite::migrate(*connection));
  ASSERT_TRUE(connection->query(sqlite::Sql::kBeginWrite).run());
  const Json vectors = assay::test::load_vectors("log.json");
  const Json& mirror = vectors["mirror"];
  ASSERT_EQ(vectors["origin"], kTestOrigin);
  const auto bytes_of = [&](const std::string& name) {
    return base64_decode(mirror[name].get<std::string>()).value();
  };
  const SignedCheckpoint newest = parse_checkpoint(as_text(bytes_of("checkpoint"))).value();
  sqlite::LogTail tail;
  for (LeafIndex index = 0; index < newest.checkpoint.size; ++index) {
    const Json& vector = vectors["records"][index];
    const Bytes bytes = base64_decode(vector["record"].get<std::string>()).value();
    ASSERT_TRUE(sqlite::append_record(*connection, tail, parse_log_record(bytes).value()));
    EXPECT_EQ(sqlite::load_record(*connection, index), bytes);
  }
  const LogState state{tail.frontier.size(), tail.frontier.root(), {}};
  const TestSigner signer;
  EXPECT_EQ(to_bytes(sign_checkpoint({kTestOrigin, state.size, state.root}, signer).value()),
            bytes_of("checkpoint"));
  for (const auto& [name, content] : mirror.items()) {
    if (name == "checkpoint") {
      continue;
    }
    const auto tile = parse_tile_path(name);
    ASSERT_TRUE(tile) << name;
    const auto actual =
        tile->level ? sqlite::load_tile(*connection, state, *tile->level, tile->index, tile->width)
                    : sqlite::load_bundle(*connection, state.size, tile->index, tile->width);
    EXPECT_EQ(actual, bytes_of(name)) << name;
  }
  const auto old = parse_checkpoint(
      as_text(base64_decode(vectors["mirror_old_checkpoint"].get<std::string>()).value()));
  ASSERT_TRUE(old);
  EXPECT_EQ(sqlite::load_root(*connection, old->checkpoint.size), old->checkpoint.root);
}

}  // namespace
}  // namespace assay::storage
