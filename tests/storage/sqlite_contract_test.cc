// SPDX-License-Identifier: Apache-2.0
// The contract suite over SQLite on disk.
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "server/service/jobs/precedence.h"
#include "tests/storage/store_contract.h"

namespace assay::storage {
namespace {

Result<std::unique_ptr<Store>> open_on_disk(const TestStoreOptions& options, const Signer& signer,
                                            const Clock& clock) {
  SqliteOptions sqlite;
  sqlite.rules = &server::kReportRules;
  sqlite.path = options.folder + "/assay.db";
  sqlite.create = true;
  sqlite.origin = kTestOrigin;
  sqlite.readers = options.readers;
  sqlite.max_group = options.max_group;
  sqlite.anchor_path = options.folder + "/anchor.json";
  sqlite.reader_wait = std::chrono::milliseconds(200);
  return open_sqlite(sqlite, signer, clock);
}

INSTANTIATE_TEST_SUITE_P(Sqlite, StoreContract,
                         ::testing::Values(StoreFactory{"sqlite", open_on_disk}),
                         [](const auto& instance) { return instance.param.name; });

INSTANTIATE_TEST_SUITE_P(Sqlite, JobContract,
                         ::testing::Values(StoreFactory{"sqlite", open_on_disk}),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace assay::storage
