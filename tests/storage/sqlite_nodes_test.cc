// SPDX-License-Identifier: Apache-2.0
// SQLite's own promises about nodes and jobs: databases of the first version are taken along, what
// is final cannot be changed by SQL either, and damaged rows are noticed.
#include <gtest/gtest.h>

#include "embedded/migrations.h"
#include "storage/sqlite/connection.h"
#include "storage/sqlite/database_file.h"
#include "tests/storage/sqlite_files.h"

namespace assay::storage {
namespace {

class SqliteNodes : public SqliteTest {
 protected:
  // A database with one row of each kind, closed.
  void fill() {
    const auto store = open().value();
    const auto state = store->write([&](Transaction& transaction) -> Status {
      ASSAY_TRY(transaction.append(make_record("node.enrolled")));
      ASSAY_ASSIGN(const DocumentId id, transaction.put_document("x", as_bytes("content")));
      ASSAY_TRY(transaction.put_challenge(
          {Bytes(32, 1), "p", "enrol", "gpu-1", "", Timestamp(), std::nullopt}));
      ASSAY_TRY(transaction.consume_challenge(Bytes(32, 1)));
      const TestSigner key(1);
      ASSAY_TRY(transaction.put_node({.name = "gpu-1",
                                      .principal = "p",
                                      .key = key.key_id(),
                                      .public_key = key.public_key(),
                                      .platform = "",
                                      .enrolled_at = Timestamp(),
                                      .held_since = Timestamp(),
                                      .expires_at = Timestamp(),
                                      .revoked = Revocation{Timestamp(), "sold"},
                                      .devices = Json::array(),
                                      .enrolment = id,
                                      .measured = std::nullopt,
                                      .log_index = 0,
                                      .registration = "",
                                      .ended = std::nullopt}));
      ASSAY_TRY(transaction.put_outline(artifact_, id));
      ASSAY_TRY(transaction.put_appraisal({"tdx", Json::object(), {}, false}));
      ASSAY_TRY(transaction.put_pod({.cluster = "kube",
                                     .uid = "uid",
                                     .name_space = "prod",
                                     .name = "pod",
                                     .nodes = {},
                                     .settled = {},
                                     .decision = "decision",
                                     .models = {{artifact_, "m"}},
                                     .workload = Json::object(),
                                     .admitted_at = clock_.now()}));
      ASSAY_TRY(transaction.raise_high_water("tdx", 5, {}));
      JobRow job{.id = "job-1",
                 .artifact = artifact_,
                 .model_name = "m",
                 .scope = "files",
                 .node = "gpu-1",
                 .location = "pvc://prod/m",
                 .created_by = "ci",
                 .created_at = Timestamp(),
                 .state = JobState::kDone,
                 .lease_expires_at = std::nullopt,
                 .pending = Json(),
                 .result = "failed",
                 .report = std::nullopt,
                 .finished_at = Timestamp()};
      ASSAY_TRY(transaction.put_job(job));
      ASSAY_TRY(transaction.append(make_record("trust.changed")));
      return {};
    });
    ASSERT_TRUE(state) << to_string(state.error());
  }
  // What reading gives after the row was damaged.
  template <typename Read>
  ErrorCode after(const std::string& sql, const Read& read) {
    tamper(sql);
    const auto store = open();
    if (!store) {
      return store.error().code;
    }
    const auto snapshot = (*store)->snapshot().value();
    const auto result = read(*snapshot);
    return result ? ErrorCode{} : result.error().code;
  }

  const ArtifactId artifact_{digest_of("artifact")};
};

TEST_F(SqliteNodes, DatabaseOfTheFirstVersion_IsTakenAlong) {
  ASSERT_TRUE(sqlite::prepare_file(path(), true));
  {
    const auto connection =
        sqlite::Connection::open(path(), sqlite::Connection::Mode::kReadWrite).value();
    const std::string first(embedded::kMigrationsFiles.at(0).second);
    ASSERT_TRUE(connection->execute(first.c_str()));
    ASSERT_TRUE(connection->execute("PRAGMA application_id=0x41535359; PRAGMA user_version=1"));
  }
  fill();
  EXPECT_EQ(look("PRAGMA user_version"), std::to_string(embedded::kMigrationsFiles.size()));
  EXPECT_EQ(open().value()->snapshot().value()->high_water("tdx"), 5U);
}

TEST_F(SqliteNodes, WhatIsFinal_CannotBeChangedBySql) {
  fill();
  const auto connection =
      sqlite::Connection::open(path(), sqlite::Connection::Mode::kReadWrite).value();
  EXPECT_TRUE(connection->execute("INSERT INTO statement_changes VALUES (1, 0)"));
  for (const char* sql : {
           "UPDATE challenges SET used_at = NULL",
           "UPDATE nodes SET revoked_at = NULL, revoked_reason = NULL",
           "UPDATE nodes SET revoked_at = revoked_at + 1",
           "UPDATE nodes SET revoked_reason = 'other'",
           "DELETE FROM nodes",
           "UPDATE node_keys SET node = 'gpu-2'",
           "DELETE FROM node_keys",
           "UPDATE jobs SET result = 'verified'",
           "DELETE FROM jobs",
           "UPDATE outlines SET artifact = 'x'",
           "DELETE FROM outlines",
           "UPDATE high_waters SET value = 4",
           "UPDATE versions SET value = value",
           "UPDATE versions SET value = 0",
           "DELETE FROM versions",
           "UPDATE statement_changes SET log_index = 7",
           "DELETE FROM statement_changes",
       }) {
    EXPECT_FALSE(connection->execute(sql)) << sql;
  }
  EXPECT_TRUE(connection->execute("UPDATE nodes SET platform = '00'"));
  EXPECT_TRUE(connection->execute("UPDATE high_waters SET value = 6"));
}

TEST_F(SqliteNodes, DamagedRows_AreDataLoss) {
  fill();
  const auto node = [](Snapshot& view) { return view.node("gpu-1"); };
  EXPECT_EQ(after("UPDATE nodes SET devices = '['", node), ErrorCode::kDataLoss);
  EXPECT_EQ(after("UPDATE nodes SET devices = '[]', key = x'00'", node), ErrorCode::kDataLoss);
  const auto pod = [](Snapshot& view) { return view.pod("kube", "uid"); };
  for (const char* models :
       {"[", "{}", "[1]", "[{}]", R"([{"artifact":"sha256:00","name":""}])",
        R"([{"artifact":1,"name":""}])", R"([{"artifact":"sha256:00","name":1}])"}) {
    EXPECT_EQ(after("UPDATE pods SET models = '" + std::string(models) + "'", pod),
              ErrorCode::kDataLoss)
        << models;
  }
  const auto outline = [&](Snapshot& view) { return view.outline(artifact_); };
  EXPECT_EQ(after("DROP TRIGGER outlines_keep_update; PRAGMA foreign_keys = OFF; "
                  "UPDATE outlines SET document = x'00'",
                  outline),
            ErrorCode::kDataLoss);
  const auto job = [](Snapshot& view) { return view.job("job-1"); };
  EXPECT_EQ(after("DROP TRIGGER jobs_stay_finished; UPDATE jobs SET subset = 'x'", job),
            ErrorCode::kDataLoss);
  EXPECT_EQ(after("DROP TRIGGER jobs_stay_finished; UPDATE jobs SET subset = '[]', "
                  "artifact = 'model'",
                  job),
            ErrorCode::kDataLoss);
}

}  // namespace
}  // namespace assay::storage
