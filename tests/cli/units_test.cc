// SPDX-License-Identifier: Apache-2.0
// Small pure parts of the command line; the verbs are tested by running the program.
#include <fstream>
#include <sstream>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "cli/audit/tlog.h"
#include "cli/documents/trust_documents.h"
#include "cli/output.h"
#include "cli/verbs/policy_diff.h"
#include "client/api.h"
#include "client/http_client.h"
#include "schemas/core/json.h"

namespace assay::cli {
namespace {

Json vectors(const std::string& name) {
  std::ifstream file(std::string(ASSAY_SOURCE_DIR) + "/tests/vectors/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return Json::parse(text.str());
}

TEST(Tlog, PathsAreThoseOfTheVectors) {
  const Json all = vectors("log.json");
  ASSERT_FALSE(all.at("tile_paths").empty());
  for (const Json& item : all.at("tile_paths")) {
    const Json& level = item.at("level");
    const std::string name =
        level.is_string() ? level.get<std::string>() : std::to_string(level.get<unsigned>());
    EXPECT_EQ(tile_path(name, item.at("index").get<std::uint64_t>(),
                        item.at("width").get<std::uint64_t>()),
              item.at("path").get<std::string>());
  }
}

TEST(Tlog, TilesOfAllSizes) {
  for (const TreeSize size : {0U, 1U, 255U, 256U, 257U, 65535U, 65536U, 65537U, 200000U}) {
    std::uint64_t leaves = 0;
    std::vector<Tile> tiles;
    const Status status = for_each_tile(size, [&](const Tile& tile) -> Status {
      leaves += tile.level == 0 ? tile.width : 0;
      tiles.push_back(tile);
      return {};
    });
    ASSERT_TRUE(status);
    EXPECT_EQ(leaves, size);
    for (const Tile& tile : tiles) {
      EXPECT_GE(tile.width, 1U);
      EXPECT_LE(tile.width, kTileWidth);
    }
  }
}

TEST(Tlog, VisitingStopsAtTheFirstError) {
  std::uint64_t calls = 0;
  const Status status = for_each_tile(~std::uint64_t{0}, [&](const Tile&) -> Status {
    return ++calls == 3 ? fail(ErrorCode::kNotFound, "enough") : Status();
  });
  EXPECT_FALSE(status);
  EXPECT_EQ(calls, 3U);
}

TEST(Tlog, Bundles) {
  const Bytes two = {0, 1, 'a', 0, 0, 0, 2, 'b', 'c'};
  const auto entries = parse_bundle(two);
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 3U);
  EXPECT_EQ(as_text((*entries)[2]), "bc");
  EXPECT_TRUE(parse_bundle({}));
  EXPECT_FALSE(parse_bundle(Bytes{0}));
  EXPECT_FALSE(parse_bundle(Bytes{0, 2, 'a'}));
  EXPECT_TRUE(parse_bundle(Bytes(2 * kTileWidth)));
  EXPECT_FALSE(parse_bundle(Bytes(2 * kTileWidth + 2)));
}

TEST(Output, NothingMovesTheCursor) {
  EXPECT_EQ(printable("plain \xc3\xa9\xe5\x90\x8d"), "plain \xc3\xa9\xe5\x90\x8d");
  EXPECT_EQ(printable("a\nb\x1b[2J\x7f"), "a\\x0ab\\x1b[2J\\x7f");
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");               // C1: control sequence
  EXPECT_EQ(printable("x\xe2\x80\xaey"), "x\\xe2\\x80\\xaey");  // right-to-left override
  EXPECT_EQ(printable("\xe2\x80\xa8"), "\\xe2\\x80\\xa8");      // line separator
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
}

TEST(Output, Numbers) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(999), "999 B");
  EXPECT_EQ(human_bytes(1000), "1.00 kB");
  EXPECT_EQ(human_bytes(12345), "12.3 kB");
  EXPECT_EQ(human_bytes(123456789), "123 MB");
  EXPECT_EQ(human_bytes(999600), "1.00 MB");
  EXPECT_EQ(counted(1, "entry"), "1 entry");
  EXPECT_EQ(counted(2, "entry"), "2 entries");
  EXPECT_EQ(counted(0, "file"), "0 files");
}

TEST(Output, Tables) {
  Table table({"A", "LONG"});
  table.row({"\xc3\xa9\xc3\xa9", "x"});
  table.row({"a", "b", "c"});
  EXPECT_EQ(table.text(), "A   LONG\n\xc3\xa9\xc3\xa9  x\na   b     c\n");
}

TEST(Queries, AreEncoded) {
  Query query;
  query.add("name", "acme/demo");
  query.add("empty", "");
  query.add("cursor", "a+b=&c d\xc3\xa9");
  EXPECT_EQ(query.text(), "?name=acme/demo&cursor=a%2Bb%3D%26c%20d%C3%A9");
}

// Ends the process: 0 when only opening the client made it undumpable.
void open_client(const std::string& key) {
  SystemClock clock;
  SystemRandom random;
  const Context context{clock, random, "test"};
  Connection connection;
  connection.cert = key;
  connection.cert_key = key;
  const bool before = ::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0;
  const bool opened = HttpClient::open(context, connection).has_value();
  const bool after = ::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0;
  ::_exit(before && opened && !after ? 0 : 1);
}

TEST(HttpClient, ProcessesWithAPrivateKeyMakeNoCoreDumps) {
  const std::string path = testing::TempDir() + "assay-client-" + std::to_string(::getpid());
  std::ofstream(path) << "-----BEGIN PRIVATE KEY-----\n";
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  // In a process of its own: what it gives up is gone for good.
  EXPECT_EXIT(open_client(path), testing::ExitedWithCode(0), "");
  ::unlink(path.c_str());
}

TEST(TrustDocuments, Times) {
  const Timestamp now = *parse_rfc3339("2026-01-01T12:00:00Z");
  EXPECT_EQ(to_rfc3339(*read_time("90d", now)), "2026-04-01T12:00:00.000Z");
  EXPECT_EQ(to_rfc3339(*read_time("12h", now)), "2026-01-02T00:00:00.000Z");
  EXPECT_EQ(to_rfc3339(*read_time("2027-01-31", now)), "2027-01-31T00:00:00.000Z");
  EXPECT_EQ(to_rfc3339(*read_time("2027-01-31T01:02:03Z", now)), "2027-01-31T01:02:03.000Z");
  for (const char* text :
       {"", "d", "90", "-1d", "90days", "2027-13-01", "36501d", "99999999999d"}) {
    EXPECT_FALSE(read_time(text, now)) << text;
  }
}

TEST(TrustDocuments, Roles) {
  const auto role = read_signer_role("evaluate:https://example.com:8443/x/v1:acme/llm");
  ASSERT_TRUE(role);
  EXPECT_EQ(*role, (SignerRole{"evaluate", "https://example.com:8443/x/v1", "acme/llm"}));
  EXPECT_EQ(read_signer_role("*:lifecycle:*")->predicate_type, "https://assay.dev/lifecycle/v1");
  for (const char* text : {"", "a", "a:b", ":b:c", "a:b:"}) {
    EXPECT_FALSE(read_signer_role(text)) << text;
  }
}

TEST(PolicyDiff, ConditionsAreMatchedById) {
  const Json one = {{"id", "a"}, {"x", 1}};
  const Json other = {{"id", "b"}, {"x", 2}};
  const Json before = {{"mode", "warn"}, {"require", {one, other}}};
  const Json moved = {{"mode", "warn"}, {"require", {other, one}}};
  EXPECT_TRUE(compare_policies(before, moved).empty());
  const auto changes = compare_policies(before, {{"mode", "enforce"}, {"require", {one}}});
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0], (PolicyChange{"mode", "warn", "enforce"}));
  EXPECT_EQ(changes[1], (PolicyChange{"require[b]", other, nullptr}));
  EXPECT_EQ(change_line(changes[0]), "~ mode \"warn\" -> \"enforce\"");
}

}  // namespace
}  // namespace assay::cli
