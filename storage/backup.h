// SPDX-License-Identifier: Apache-2.0
// A copy of the database of a running service, and putting one in its place (docs/operations.md).
#pragma once

#include <cstdint>
#include <string>

#include "storage/inspect.h"

namespace assay::storage {

struct Backup {
  TreeSize size = 0;  // of the log in it
  std::uint64_t bytes = 0;
};

// Copies the database, of one moment, into a new file at `to`, and checks the copy as
// Inspection::find() does without `deep`. The service may run. The file is durable, complete and
// for its owner only, or there is none. Errors: conflict when there is a file; data-loss, with the
// first finding, when the database is damaged; those of Inspection::open().
[[nodiscard]] Result<Backup> back_up_sqlite(const SqliteOptions& options, const Signer& log_signer,
                                            const Clock& clock, const std::string& to,
                                            const Progress& progress);

// Checks the file at `from` in the same way, and puts a copy of it in the place of the database,
// while no service runs. The database that is there stays beside it, under a name that ends in
// ".before-restore"; the anchor stays as it is. A call that was interrupted can be repeated.
// Errors: unavailable while a service runs; conflict when a database of before an earlier restore
// is still there; data-loss when the backup is damaged; not-found when there is none.
[[nodiscard]] Status put_back_sqlite(const SqliteOptions& options, const Signer& log_signer,
                                     const Clock& clock, const std::string& from,
                                     const Progress& progress);

}  // namespace assay::storage
