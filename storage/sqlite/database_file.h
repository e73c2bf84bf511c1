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
  // Locks `<path>.lock`, where symbolic links in `path` are followed first: one database has one
  // lock, whatever it is called. The lock file is created and never removed. Errors: unavailable
  // while another holder has the lock; invalid-config when the database has a second name (a hard
  // link), beside which there would be a second lock.
  [[nodiscard]] static Result<FileLock> acquire(const std::string& path);

  // Returns the path of the database without symbolic links.
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  FileLock(Descriptor file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  Descriptor file_;
  std::string path_;
};

// Creates an empty database file (mode 0600, folder synced) when there is none and `create` is
// true. Removes other users' access rights from an existing file. Errors: not-found; storage.
[[nodiscard]] Status prepare_file(const std::string& path, bool create);

// Brings the schema to the newest version, all steps in one transaction. Errors: invalid-config
// when the file belongs to another program or has a later version.
[[nodiscard]] Status migrate(Connection& connection);

// Compares what marks the file as one of this program, and of its version, with what the program
// writes (PRAGMA application_id and user_version). A start tells by them what to do with a file.
[[nodiscard]] Status check_file_marks(Connection& connection);
// Writes both. The caller must know that the schema is that of this program.
[[nodiscard]] Status put_file_marks(Connection& connection);

}  // namespace assay::storage::sqlite
