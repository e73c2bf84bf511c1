// SPDX-License-Identifier: Apache-2.0
// Writing and checking for the fault, power-loss and kill tests.
#include "tests/storage/durability.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "server/service/jobs/precedence.h"
#include "storage/sqlite/handles.h"
#include "tests/storage/store_contract.h"

namespace assay::storage {
namespace {

std::string first_text(sqlite3* database, const char* sql) {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(database, sql, -1, &raw, nullptr) != SQLITE_OK) {
    return sqlite3_errmsg(database);
  }
  const sqlite::StatementHandle statement(raw);
  const int code = sqlite3_step(raw);
  if (code == SQLITE_ROW) {
    return reinterpret_cast<const char*>(sqlite3_column_text(raw, 0));
  }
  return code == SQLITE_DONE ? "no rows" : sqlite3_errmsg(database);
}

}  // namespace

std::vector<AcknowledgedWrite> write_some(Store& store, const std::string& prefix, int count) {
  std::vector<AcknowledgedWrite> acknowledged;
  for (int i = 0; i < count; ++i) {
    const std::string actor = prefix + std::to_string(i);
    LeafIndex index = 0;
    const auto state = store.write([&](Transaction& transaction) -> Status {
      ASSAY_ASSIGN(index, transaction.append(make_record("test.appended", actor, {actor})));
      StatementRow row = make_statement("acme/" + actor);
      row.subjects.push_back("name:" + actor);
      ASSAY_TRY(put(transaction, row));
      if (i % 3 == 2) {
        ASSAY_ASSIGN(Epochs epochs, transaction.epochs());
        ++epochs.trust.revocation;
        ASSAY_TRY(transaction.set_epochs(epochs));
        ASSAY_TRY(transaction.append(make_record("trust.changed")));
      }
      return {};
    });
    if (state) {
      acknowledged.push_back({index, actor, *state});
    }
  }
  return acknowledged;
}

void expect_durable(Store& store, const std::vector<AcknowledgedWrite>& acknowledged) {
  const auto view = store.snapshot();
  ASSERT_TRUE(view) << to_string(view.error());
  const auto verified = (*view)->verify_log();
  ASSERT_TRUE(verified) << to_string(verified.error());
  for (const AcknowledgedWrite& write : acknowledged) {
    const auto bytes = (*view)->log_record(write.index);
    ASSERT_TRUE(bytes) << write.actor << ": " << to_string(bytes.error());
    EXPECT_EQ(parse_log_record(*bytes)->actor, write.actor);
    EXPECT_EQ((*view)->log_root(write.state.size), write.state.root) << write.actor;
    expect_included(**view, write.index, write.state);
    const auto statement = (*view)->statement(make_statement("acme/" + write.actor).id);
    ASSERT_TRUE(statement) << write.actor;
    EXPECT_TRUE((*view)->document(statement->envelopes.front())) << write.actor;
  }
}

SqliteOptions kill_test_options(const std::string& folder) {
  SqliteOptions options;
  options.rules = &server::kReportRules;
  options.path = folder + "/assay.db";
  options.create = true;
  options.origin = kTestOrigin;
  options.readers = 1;
  options.anchor_path = folder + "/anchor.json";
  return options;
}

void expect_intact(const std::string& path) {
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &raw), SQLITE_OK);
  const sqlite::DatabaseHandle database(raw);
  EXPECT_EQ(first_text(raw, "PRAGMA integrity_check"), "ok");
  EXPECT_EQ(first_text(raw, "PRAGMA foreign_key_check"), "no rows");
}

}  // namespace assay::storage
