// SPDX-License-Identifier: Apache-2.0
// A workload that remembers what was acknowledged, and the check of a store against it.
#pragma once

#include <string>
#include <vector>

#include "storage/store.h"

namespace assay::storage {

struct AcknowledgedWrite {
  LeafIndex index;
  std::string actor;  // tells the record from all others
  LogState state;
};

// One write like those of the service: a document, a record, a statement, every third time an
// epoch. Nothing when the store refused.
[[nodiscard]] std::vector<AcknowledgedWrite> write_some(Store& store, const std::string& prefix,
                                                        int count);

// Fails the test unless everything acknowledged is there, provable against the state it was
// acknowledged with, and the log as a whole verifies.
void expect_durable(Store& store, const std::vector<AcknowledgedWrite>& acknowledged);

// How the kill test and its child open the database in `folder`.
[[nodiscard]] SqliteOptions kill_test_options(const std::string& folder);

// PRAGMA integrity_check and foreign_key_check of a closed database.
void expect_intact(const std::string& path);

}  // namespace assay::storage
