// SPDX-License-Identifier: Apache-2.0
// A database that one process changes while no service runs: a repair or a restore.
#pragma once

#include <memory>

#include "schemas/core/signer.h"
#include "storage/sqlite/connection.h"
#include "storage/sqlite/database_file.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

struct Opened {
  FileLock lock;
  std::unique_ptr<Connection> connection;
  LogState state;  // of the newest checkpoint, as it is stored
};

// Locks the database, and makes durable what it holds. Errors: those of open_sqlite() for a file
// that is in use or older than its log; data-loss when there is no checkpoint.
[[nodiscard]] Result<Opened> open_alone(const SqliteOptions& options, const Signer& signer);

}  // namespace assay::storage::sqlite
