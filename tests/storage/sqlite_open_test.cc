// SPDX-License-Identifier: Apache-2.0
// Opening a SQLite store: file rights, one process at a time, settings, schema, damage.
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "storage/sqlite/connection.h"
#include "storage/sqlite/database_file.h"
#include "tests/storage/sqlite_files.h"

namespace assay::storage {
namespace {

using SqliteOpen = SqliteTest;

unsigned mode_of(const std::string& path) {
  struct stat status{};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 0777;
}

TEST_F(SqliteOpen, NewDatabase_IsForItsOwnerOnly) {
  const mode_t old = ::umask(0);
  const auto store = open().value();
  ::umask(old);
  append(*store, 1);
  for (const char* suffix : {"", "-wal", "-shm", ".lock"}) {
    EXPECT_EQ(mode_of(path() + suffix), 0600U) << suffix;
  }
  EXPECT_EQ(mode_of(anchor_path()), 0600U);
}

TEST_F(SqliteOpen, Close_LeavesOneFileWithEverything) {
  append(*open().value(), 3);
  EXPECT_FALSE(std::filesystem::exists(path() + "-wal"));
  EXPECT_EQ(look("SELECT count(*) FROM log_records"), "3");
}

TEST_F(SqliteOpen, DatabaseOthersMayRead_IsTakenFromThem) {
  open().value().reset();
  ASSERT_EQ(::chmod(path().c_str(), 0644), 0);
  open().value().reset();
  EXPECT_EQ(mode_of(path()), 0600U);
}

TEST_F(SqliteOpen, NoDatabaseAndNoCreate_IsNotFoundAndMakesNone) {
  SqliteOptions wanted = options();
  wanted.create = false;
  EXPECT_EQ(open_error(wanted), ErrorCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(path()));
  EXPECT_FALSE(std::filesystem::exists(anchor_path()));
}

TEST_F(SqliteOpen, FolderMissing_IsAStorageError) {
  SqliteOptions wanted = options();
  wanted.path = folder_.path() + "/none/assay.db";
  EXPECT_EQ(open_error(wanted), ErrorCode::kStorage);
}

TEST_F(SqliteOpen, Directory_IsRefused) {
  std::filesystem::create_directory(path());
  EXPECT_EQ(open_error(), ErrorCode::kInvalidConfig);
}

TEST_F(SqliteOpen, SecondTimeInOneProcess_IsUnavailableUntilClosed) {
  auto first = open().value();
  EXPECT_EQ(open_error(), ErrorCode::kUnavailable);
  first.reset();
  EXPECT_TRUE(open());
}

TEST_F(SqliteOpen, SecondProcess_IsUnavailable) {
  const auto first = open().value();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto second = open_sqlite(options(), signer_, clock_);
    ::_exit(!second && second.error().code == ErrorCode::kUnavailable ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  append(*first, 1);
}

TEST_F(SqliteOpen, SymbolicLink_LeadsToTheSameLock) {
  namespace fs = std::filesystem;
  auto first = open().value();
  append(*first, 2);
  fs::create_directory(folder_.path() + "/other");
  fs::create_symlink(path(), folder_.path() + "/other/link.db");
  fs::create_directory_symlink(folder_.path(), folder_.path() + "/again");
  for (const char* name : {"/other/link.db", "/again/assay.db", "/other/../assay.db"}) {
    SqliteOptions wanted = options();
    wanted.path = folder_.path() + name;
    EXPECT_EQ(open_error(wanted), ErrorCode::kUnavailable) << name;
  }
  first.reset();
  SqliteOptions wanted = options();
  wanted.path = folder_.path() + "/other/link.db";
  const auto through = open(wanted).value();
  EXPECT_EQ(append(*through, 1).size, 3U);
  EXPECT_EQ(open_error(), ErrorCode::kUnavailable);
  EXPECT_TRUE(through->healthy());
}

TEST_F(SqliteOpen, HardLink_IsRefusedUntilItIsGone) {
  append(*open().value(), 2);
  const std::string other = folder_.path() + "/other.db";
  std::filesystem::create_hard_link(path(), other);
  EXPECT_EQ(open_error(), ErrorCode::kInvalidConfig);
  SqliteOptions wanted = options();
  wanted.path = other;
  EXPECT_EQ(open_error(wanted), ErrorCode::kInvalidConfig);
  std::filesystem::remove(other);
  EXPECT_EQ(append(*open().value(), 1).size, 3U);
}

// Somebody removed the lock file.
TEST_F(SqliteOpen, AnotherWriter_EndsTheOneThatIsBehind) {
  SqliteOptions wanted = options();
  wanted.probe_interval = std::chrono::milliseconds(5);
  const auto first = open(wanted).value();
  append(*first, 1);
  std::filesystem::remove(path() + ".lock");
  const auto second = open().value();
  EXPECT_EQ(append(*second, 1).size, 2U);
  EXPECT_TRUE(first->healthy()) << "it cannot know yet";
  for (int i = 0; i < 2; ++i) {
    const auto refused = first->write([](Transaction& transaction) -> Status {
      ASSAY_TRY(transaction.append(make_record("test.lost")));
      return {};
    });
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
    EXPECT_FALSE(first->healthy());
  }
  EXPECT_EQ(append(*second, 1).size, 3U);
  EXPECT_TRUE(second->healthy());
  std::this_thread::sleep_for(10 * wanted.probe_interval);  // a probe gives no event
  EXPECT_FALSE(first->healthy()) << "what it probes is not its own";
}

TEST_F(SqliteOpen, Connection_HasEverySafeSetting) {
  using sqlite::Connection;
  ASSERT_TRUE(sqlite::prepare_file(path(), true));
  const auto writer = Connection::open(path(), Connection::Mode::kReadWrite).value();
  ASSERT_TRUE(sqlite::migrate(*writer));
  const auto reader = Connection::open(path(), Connection::Mode::kReadOnly).value();
  for (Connection* connection : {writer.get(), reader.get()}) {
    EXPECT_EQ(connection->integer("PRAGMA synchronous"), 2);  // FULL
    EXPECT_EQ(connection->integer("PRAGMA foreign_keys"), 1);
    EXPECT_EQ(connection->integer("PRAGMA trusted_schema"), 0);
    EXPECT_EQ(connection->integer("PRAGMA cell_size_check"), 1);
    EXPECT_EQ(connection->integer("PRAGMA busy_timeout"), 5000);
    EXPECT_EQ(
        connection->integer("SELECT count(*) FROM pragma_journal_mode WHERE journal_mode='wal'"),
        1);
    for (const int option : {SQLITE_DBCONFIG_DEFENSIVE, SQLITE_DBCONFIG_DQS_DDL,
                             SQLITE_DBCONFIG_DQS_DML, SQLITE_DBCONFIG_TRUSTED_SCHEMA}) {
      int value = -1;
      sqlite3_db_config(connection->handle(), option, -1, &value);
      EXPECT_EQ(value, option == SQLITE_DBCONFIG_DEFENSIVE ? 1 : 0) << option;
    }
  }
  EXPECT_EQ(reader->integer("PRAGMA query_only"), 1);
  EXPECT_FALSE(reader->execute("DELETE FROM governance"));
  EXPECT_FALSE(writer->execute("ATTACH ':memory:' AS other"));
  EXPECT_EQ(writer->integer("PRAGMA application_id"), 0x41535359);
}

TEST_F(SqliteOpen, EveryTable_IsStrict) {
  open().value().reset();
  EXPECT_EQ(look("SELECT count(*) FROM pragma_table_list WHERE schema='main' AND type='table' AND "
                 "strict=0 AND name NOT LIKE 'sqlite_%'"),
            "0");
}

TEST_F(SqliteOpen, OtherProgramsDatabase_IsRefusedAndLeftAlone) {
  tamper("CREATE TABLE theirs (x)");
  EXPECT_EQ(open_error(), ErrorCode::kInvalidConfig);
  EXPECT_EQ(look("SELECT count(*) FROM sqlite_schema"), "1");
}

TEST_F(SqliteOpen, LaterVersionsDatabase_IsRefused) {
  open().value().reset();
  tamper("PRAGMA user_version=1000");
  EXPECT_EQ(open_error(), ErrorCode::kInvalidConfig);
}

TEST_F(SqliteOpen, NotADatabase_IsDataLoss) {
  std::ofstream(path()) << std::string(8192, 'x');
  EXPECT_EQ(open_error(), ErrorCode::kDataLoss);
}

TEST_F(SqliteOpen, OtherOrigin_IsRefused) {
  append(*open().value(), 1);
  SqliteOptions wanted = options();
  wanted.origin = "other.example.com/log";
  EXPECT_EQ(open_error(wanted), ErrorCode::kInvalidConfig);
}

TEST_F(SqliteOpen, OtherLogKey_IsRefused) {
  append(*open().value(), 1);
  const TestSigner other(1);
  const auto opened = open_sqlite(options(), other, clock_);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kInvalidConfig);
}

TEST_F(SqliteOpen, InterruptedCreation_IsCompleted) {
  std::ofstream(path()).close();  // created, and then the process died
  append(*open().value(), 1);
  EXPECT_TRUE(open());
}

TEST_F(SqliteOpen, StoredRows_CannotBeChangedByAccident) {
  const auto store = open().value();
  const auto state = store->write([](Transaction& transaction) -> Status {
    ASSAY_TRY(put(transaction, make_statement("acme/kept")));
    ASSAY_TRY(put(transaction, make_decision("kept")));
    return {};
  });
  ASSERT_TRUE(state);
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &raw), SQLITE_OK);
  const sqlite::DatabaseHandle database(raw);
  for (const char* table : {"documents", "log_records", "log_nodes", "statements", "decisions"}) {
    const std::string name(table);
    EXPECT_NE(sqlite3_exec(raw, ("DELETE FROM " + name).c_str(), nullptr, nullptr, nullptr),
              SQLITE_OK)
        << name;
    EXPECT_NE(sqlite3_exec(raw, ("UPDATE " + name + " SET rowid = rowid + 100").c_str(), nullptr,
                           nullptr, nullptr),
              SQLITE_OK)
        << name;
  }
}

TEST(SqliteError, EveryKindOfCode_HasItsMeaning) {
  EXPECT_EQ(sqlite::sqlite_error(SQLITE_CORRUPT).code, ErrorCode::kDataLoss);
  EXPECT_EQ(sqlite::sqlite_error(SQLITE_CORRUPT_INDEX).code, ErrorCode::kDataLoss);
  EXPECT_EQ(sqlite::sqlite_error(SQLITE_NOTADB).code, ErrorCode::kDataLoss);
  for (const int code : {SQLITE_IOERR, SQLITE_IOERR_FSYNC, SQLITE_FULL, SQLITE_BUSY, SQLITE_LOCKED,
                         SQLITE_NOMEM, SQLITE_CANTOPEN, SQLITE_READONLY, SQLITE_PROTOCOL,
                         SQLITE_ERROR, SQLITE_INTERRUPT, SQLITE_BUSY_SNAPSHOT}) {
    EXPECT_EQ(sqlite::sqlite_error(code).code, ErrorCode::kStorage) << code;
  }
  for (const int code : {SQLITE_CONSTRAINT_UNIQUE, SQLITE_CONSTRAINT_FOREIGNKEY, SQLITE_MISUSE,
                         SQLITE_RANGE, SQLITE_MISMATCH}) {
    EXPECT_EQ(sqlite::sqlite_error(code).code, ErrorCode::kInternal) << code;
  }
  EXPECT_NE(sqlite::sqlite_error(SQLITE_IOERR_FSYNC).detail.find("1034"), std::string::npos);
}

}  // namespace
}  // namespace assay::storage
