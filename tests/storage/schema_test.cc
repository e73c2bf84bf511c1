// SPDX-License-Identifier: Apache-2.0
// Somebody changed triggers, indexes or tables: a trigger could write a lie that the service then
// seals.
#include <filesystem>
#include <thread>

#include "storage/inspect.h"
#include "tests/storage/sqlite_files.h"

namespace assay::storage {
namespace {

constexpr const char* kLiar =
    "DROP TRIGGER jobs_stay_finished;"
    "CREATE TRIGGER jobs_stay_finished AFTER UPDATE ON jobs WHEN NEW.result = 'mismatch' "
    "BEGIN UPDATE jobs SET result = 'verified' WHERE seq = NEW.seq; END";

class SchemaTest : public SqliteTest {
 protected:
  void SetUp() override {
    append(*open().value(), 3);
    before_ = schema();
  }
  [[nodiscard]] std::string schema() const {
    return look(
        "SELECT group_concat(line, char(10)) FROM (SELECT type || ' ' || name || ' ' || tbl_name "
        "|| ' ' || coalesce(sql, '') AS line FROM sqlite_schema ORDER BY 1)");
  }
  std::vector<std::string> findings() {
    std::vector<std::string> found;
    const auto inspection = Inspection::open(options(), signer_, clock_).value();
    const auto damages = inspection->find(false, [](auto, auto) {});
    EXPECT_TRUE(damages) << to_string(damages.error());
    for (const Damage& damage : damages.value_or(std::vector<Damage>())) {
      found.push_back(damage.check + " " + damage.id);
    }
    return found;
  }
  Result<Repaired> repair() {
    return repair_sqlite(options(), signer_, Rebuilders(), [](auto, auto) {});
  }

  std::string before_;
};

TEST_F(SchemaTest, TriggersAndIndexesChangedWhileStopped_RefuseTheStart_AndAreMadeAgain) {
  const std::vector<std::pair<std::string, std::string>> changes = {
      {kLiar, "trigger jobs_stay_finished"},
      {"DROP TRIGGER jobs_stay_finished", "trigger jobs_stay_finished"},
      {"DROP TRIGGER documents_keep_delete", "trigger documents_keep_delete"},
      {"DROP TRIGGER nodes_stay_revoked", "trigger nodes_stay_revoked"},
      {"CREATE TRIGGER \"an \"\"odd'name\" AFTER INSERT ON jobs BEGIN SELECT 1; END",
       "trigger an \"odd'name"},
      {"DROP INDEX decision_reasons_by_reason", "index decision_reasons_by_reason"},
      {"CREATE INDEX theirs ON jobs (result)", "index theirs"},
      {"PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'finished = 1', "
       "'finished = 2') WHERE name = 'jobs_stay_finished'",
       "trigger jobs_stay_finished"},
  };
  for (const auto& [sql, object] : changes) {
    tamper_schema(sql);
    const auto opened = open();
    ASSERT_FALSE(opened) << sql;
    EXPECT_EQ(opened.error().code, ErrorCode::kDataLoss) << sql;
    EXPECT_EQ(opened.error().where, object);
    EXPECT_EQ(findings(), std::vector<std::string>{"schema " + object});
    EXPECT_EQ(measure_loss(options(), signer_).error().code, ErrorCode::kDataLoss) << sql;
    const auto repaired = repair();
    ASSERT_TRUE(repaired) << to_string(repaired.error());
    EXPECT_EQ(repaired->made, (std::map<std::string, std::uint64_t>{{"sqlite_schema", 1}}));
    EXPECT_EQ(schema(), before_) << sql;
    EXPECT_EQ(findings(), std::vector<std::string>());
    append(*open().value(), 1);
  }
}

TEST_F(SchemaTest, TablesAndViewsChangedWhileStopped_RefuseTheStartAndTheRepair) {
  for (const auto& [change, back] : std::vector<std::pair<std::string, std::string>>{
           {"CREATE TABLE theirs (x)", "DROP TABLE theirs"},
           {"CREATE VIEW theirs AS SELECT 1", "DROP VIEW theirs"},
           {"ALTER TABLE jobs ADD COLUMN theirs TEXT", "ALTER TABLE jobs DROP COLUMN theirs"}}) {
    tamper_schema(change);
    EXPECT_EQ(open_error(), ErrorCode::kDataLoss) << change;
    EXPECT_EQ(repair().error().code, ErrorCode::kDataLoss) << change;
    tamper_schema(back);
    EXPECT_EQ(schema(), before_);
    EXPECT_TRUE(open()) << "the honest neighbour";
  }
}

TEST_F(SchemaTest, TriggerChangedWhileRunning_StopsWritesAndReads_EvenWhenItIsPutBack) {
  SqliteOptions quick = options();
  quick.probe_interval = std::chrono::milliseconds(5);
  auto store = open(quick).value();
  append(*store, 1);
  const std::string size = look("SELECT size FROM log_checkpoint");
  const std::string version = look("PRAGMA schema_version");
  const std::string honest = look("SELECT sql FROM sqlite_schema WHERE name='jobs_stay_finished'");
  const auto write = [&] {
    return store->write([](Transaction& t) -> Status {
      ASSAY_TRY(t.append(make_record("test.appended")));
      return {};
    });
  };
  tamper_schema(kLiar);
  EXPECT_EQ(store->snapshot().error().code, ErrorCode::kDataLoss);
  EXPECT_EQ(write().error().code, ErrorCode::kDataLoss);
  EXPECT_FALSE(store->healthy());
  // A version that is put back by hand does not help.
  tamper_schema("PRAGMA schema_version = " + version);
  EXPECT_EQ(write().error().code, ErrorCode::kDataLoss);
  tamper_schema("DROP TRIGGER jobs_stay_finished;" + honest);
  EXPECT_EQ(write().error().code, ErrorCode::kDataLoss);
  std::this_thread::sleep_for(10 * quick.probe_interval);  // a probe gives no event
  EXPECT_FALSE(store->healthy()) << "no probe makes it ready again";
  EXPECT_EQ(look("SELECT size FROM log_checkpoint"), size);
  store.reset();
  append(*open().value(), 1);
}

// A VACUUM raises the version of the schema, as every change of it does.
TEST_F(SchemaTest, SchemaThatIsTheSameUnderAnotherVersion_IsTheSame) {
  const auto store = open().value();
  for (const char* const sql : {"VACUUM", "ANALYZE", "CREATE TABLE a (b); DROP TABLE a"}) {
    const std::string version = look("PRAGMA schema_version");
    tamper_schema(sql);
    EXPECT_NE(look("PRAGMA schema_version"), version) << sql;
    for (int i = 0; i < 3; ++i) {  // each reader
      EXPECT_TRUE(store->snapshot()) << sql;
    }
    append(*store, 1);
    EXPECT_TRUE(store->snapshot()) << sql;
    EXPECT_TRUE(store->healthy()) << sql;
  }
  EXPECT_EQ(schema(), before_) << "statistics are gone, too";
}

// Through writable_schema anything can have such a name.
TEST_F(SchemaTest, TableThatOnlyHasTheNameOfStatistics_IsForeign) {
  tamper_schema(
      "CREATE TABLE theirs (x); PRAGMA writable_schema = ON; UPDATE sqlite_schema SET "
      "name = 'sqlite_stat1', tbl_name = 'sqlite_stat1', "
      "sql = 'CREATE TABLE sqlite_stat1(x)' WHERE name = 'theirs'");
  EXPECT_EQ(open_error(), ErrorCode::kDataLoss);
  EXPECT_EQ(findings(), std::vector<std::string>{"schema table sqlite_stat1"});
}

TEST_F(SchemaTest, SnapshotThatCannotBeOpened_IsNoHealth) {
  const auto store = open().value();
  tamper("UPDATE log_checkpoint SET size = 0");
  EXPECT_TRUE(store->healthy()) << "nobody has looked";
  EXPECT_EQ(store->snapshot().error().code, ErrorCode::kDataLoss);
  EXPECT_FALSE(store->healthy());
  tamper("UPDATE log_checkpoint SET size = 3");
  EXPECT_TRUE(store->snapshot());
  EXPECT_TRUE(store->healthy());
}

class PlaceTest : public SqliteTest {
 protected:
  static Result<LogState> write(Store& store) {
    return store.write([](Transaction& t) -> Status {
      ASSAY_TRY(t.append(make_record("test.appended")));
      return {};
    });
  }
};

TEST_F(PlaceTest, FileThatIsMovedWhileRunning_AcknowledgesNothing_UntilItIsBack) {
  for (const char* suffix : {"", "-wal"}) {
    SqliteOptions quick = options();
    quick.probe_interval = std::chrono::milliseconds(5);
    const auto store = open(quick).value();
    ASSERT_TRUE(write(*store));
    ASSERT_TRUE(store->healthy());
    const std::string from = path() + suffix;
    const std::string away = folder_.path() + "/away";
    std::filesystem::rename(from, away);
    EXPECT_FALSE(store->healthy()) << from;
    EXPECT_EQ(write(*store).error().code, ErrorCode::kStorage) << from;
    std::filesystem::copy_file(away, from);
    EXPECT_EQ(write(*store).error().code, ErrorCode::kStorage) << "a copy is another file";
    EXPECT_FALSE(store->healthy());
    std::filesystem::rename(away, from);
    EXPECT_TRUE(write(*store)) << from;
    EXPECT_TRUE(store->healthy()) << from;
  }
  append(*open().value(), 1);
}

TEST_F(PlaceTest, FileThatGoesInTheMiddleOfAWrite_IsNotAcknowledged) {
  const auto store = open().value();
  const auto written = store->write([&](Transaction& t) -> Status {
    ASSAY_TRY(t.append(make_record("test.appended")));
    std::filesystem::rename(path(), folder_.path() + "/away");
    return {};
  });
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kStorage);
  EXPECT_FALSE(store->healthy());
  std::filesystem::rename(folder_.path() + "/away", path());
}

}  // namespace
}  // namespace assay::storage
