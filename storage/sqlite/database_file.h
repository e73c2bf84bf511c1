// SPDX-License-Identifier: Apache-2.0
// The database as a file: used by one process at a time, readable only by its owner, with Assay's
// schema.
#pragma once

#include <string>
#include <utility>

#include "schemas/core/error.h"
#include "schemas/posix/descriptor.h"
#include "storage/sqlite/connection.h"

namespace assay::storage::sqlite {

// A lock held while the database is open. The operating system holds the lock for this process, and
// releases it however the process ends.
class FileLock {
 public:
  // Locks the file `<path>.lock`. Creates this file when there is none, and never removes it.
  // Errors: unavailable while somebody else holds the lock.
  [[nodiscard]] static Result<FileLock> acquire(const std::string& path);

 private:
  explicit FileLock(Descriptor file) : file_(std::move(file)) {}
  Descriptor file_;
};

// Creates an empty database file (mode 0600, folder synced) when there is none and `create` is
// true. Removes other users' access rights from an existing file. Errors: not-found; storage.
[[nodiscard]] Status prepare_file(const std::string& path, bool create);

// Brings the schema to the newest version, all steps in one transaction. Errors: invalid-config
// when the file belongs to another program or has a later version.
[[nodiscard]] Status migrate(Connection& connection);

}  // namespace assay::storage::sqlite
