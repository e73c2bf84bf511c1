// SPDX-License-Identifier: Apache-2.0
// Opening SQLite stores in a folder, and reaching past the store into the files to damage them.
#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "server/service/jobs/precedence.h"
#include "storage/sqlite/handles.h"
#include "storage/store.h"
#include "tests/storage/store_contract.h"
#include "tests/support/kept_triggers.h"

namespace assay::storage {

// A test with a folder, a clock and a signer, and a store that is opened when the test says so.
class SqliteTest : public ::testing::Test {
 protected:
  [[nodiscard]] SqliteOptions options() const {
    SqliteOptions options;
    options.rules = &server::kReportRules;
    options.path = path();
    options.create = true;
    options.origin = kTestOrigin;
    options.readers = 2;
    options.anchor_path = anchor_path();
    options.reader_wait = std::chrono::milliseconds(200);
    return options;
  }
  [[nodiscard]] std::string path() const { return folder_.path() + "/assay.db"; }
  [[nodiscard]] std::string anchor_path() const { return folder_.path() + "/anchor.json"; }

  Result<std::unique_ptr<Store>> open() { return open(options()); }
  Result<std::unique_ptr<Store>> open(const SqliteOptions& options) {
    return open_sqlite(options, signer_, clock_);
  }
  // What opening fails with; fails the test when it does not.
  ErrorCode open_error(const SqliteOptions& options) {
    const auto opened = open(options);
    EXPECT_FALSE(opened) << "opening should have failed";
    return opened ? ErrorCode{} : opened.error().code;
  }
  ErrorCode open_error() { return open_error(options()); }

  static LogState append(Store& store, std::size_t count) {
    const auto state = store.write([&](Transaction& transaction) -> Status {
      for (std::size_t i = 0; i < count; ++i) {
        ASSAY_TRY(transaction.append(make_record("test.appended")));
      }
      return {};
    });
    EXPECT_TRUE(state) << to_string(state.error());
    return state ? *state : LogState{0, digest_of("failed"), {}};
  }

  // Runs SQL on the database, as somebody with the file in hand could, who puts the triggers back
  // afterwards.
  void tamper(const std::string& sql) const { tamper(sql, true); }
  // The same, and leaves the triggers as they are then.
  void tamper_schema(const std::string& sql) const { tamper(sql, false); }
  // The first column of the first row.
  [[nodiscard]] std::string look(const std::string& sql) const {
    sqlite3* raw = nullptr;
    EXPECT_EQ(sqlite3_open(path().c_str(), &raw), SQLITE_OK);
    const sqlite::DatabaseHandle database(raw);
    sqlite3_stmt* prepared = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(raw, sql.c_str(), -1, &prepared, nullptr), SQLITE_OK) << sql;
    const sqlite::StatementHandle statement(prepared);
    EXPECT_EQ(sqlite3_step(prepared), SQLITE_ROW) << sql;
    const auto* text = static_cast<const char*>(sqlite3_column_blob(prepared, 0));
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(prepared, 0));
    return text == nullptr ? std::string() : std::string(text, size);
  }

  TemporaryFolder folder_;
  ManualClock clock_;
  TestSigner signer_;

 private:
  void tamper(const std::string& sql, bool put_back) const {
    sqlite3* raw = nullptr;
    ASSERT_EQ(sqlite3_open(path().c_str(), &raw), SQLITE_OK);
    const sqlite::DatabaseHandle database(raw);
    sqlite3_busy_timeout(raw, 60'000);  // a store that runs may probe just now
    const test::KeptTriggers triggers(raw);
    char* message = nullptr;
    const int code = sqlite3_exec(raw, sql.c_str(), nullptr, nullptr, &message);
    EXPECT_EQ(code, SQLITE_OK) << (message == nullptr ? "" : message);
    sqlite3_free(message);
    if (put_back) {
      triggers.put_back();
    }
  }
};

}  // namespace assay::storage
