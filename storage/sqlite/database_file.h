// SPDX-License-Identifier: Apache-2.0
// The database as a file: one process at a time, readable by its owner only, and of our schema.
#pragma once

#include <string>
#include <utility>

#include "schemas/core/error.h"
#include "schemas/posix/descriptor.h"
#include "storage/sqlite/connection.h"

namespace assay::storage::sqlite {

// Held for as long as the database is open. Kept by the operating system for this process, so that
// it goes when the process does, however that ends.
class FileLock {
 public:
  // Locks `<path>.lock`, which is created and stays. unavailable while another holder has it.
  [[nodiscard]] static Result<FileLock> acquire(const std::string& path);

 private:
  explicit FileLock(Descriptor file) : file_(std::move(file)) {}
  Descriptor file_;
};

// Creates an empty file (mode 0600, its folder synced) when there is none and `create`, and takes
// other people's rights from an existing one. not-found, storage.
[[nodiscard]] Status prepare_file(const std::string& path, bool create);

// Brings the schema to the newest version, all steps in one transaction. invalid-config when the
// file is another program's or of a later version.
[[nodiscard]] Status migrate(Connection& connection);

}  // namespace assay::storage::sqlite
