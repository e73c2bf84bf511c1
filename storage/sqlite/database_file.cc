// SPDX-License-Identifier: Apache-2.0
// Lock file, creation and migrations.
#include "storage/sqlite/database_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <utility>

#include "embedded/migrations.h"
#include "storage/durable_file.h"

namespace assay::storage::sqlite {
namespace {

// "ASSY": marks the file as ours (PRAGMA application_id).
constexpr std::int64_t kApplicationId = 0x41535359;

std::unexpected<Error> failed(const char* what) {
  return fail(ErrorCode::kStorage, std::string(what) + ": " + std::strerror(errno));
}

Status apply_migrations(Connection& connection, std::int64_t version) {
  const auto count = static_cast<std::int64_t>(embedded::kMigrationsFiles.size());
  for (std::int64_t next = version; next < count; ++next) {
    const std::string_view text =
        embedded::kMigrationsFiles.at(static_cast<std::size_t>(next)).second;
    ASSAY_TRY(connection.execute(std::string(text).c_str()));
  }
  return put_file_marks(connection);
}

// `path` without symbolic links. A database that does not exist yet is placed by its folder.
Result<std::string> real_path(const std::string& path) {
  std::error_code error;
  const auto real = std::filesystem::weakly_canonical(path, error);
  if (error) {
    return fail(ErrorCode::kStorage, "the path of the database cannot be followed: " +
                                         std::string(std::strerror(error.value())));
  }
  return real.string();
}

// SQLite keeps its write-ahead log beside the name under which it was opened: under two names the
// same file has two.
Status check_one_name(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink > 1) {
    return fail(ErrorCode::kInvalidConfig,
                "the database has more than one name (a hard link); remove the others, or copy the "
                "file while no service runs");
  }
  return {};
}

}  // namespace

Result<FileLock> FileLock::acquire(const std::string& path) {
  ASSAY_ASSIGN(std::string real, real_path(path));
  const std::string name = real + ".lock";
  Descriptor file(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) {
    return failed("the lock file beside the database cannot be opened");
  }
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      return fail(ErrorCode::kUnavailable,
                  "the database is in use by another process; stop that one first");
    }
    return failed("the lock file beside the database cannot be locked");
  }
  ASSAY_TRY(check_one_name(real));
  return FileLock(std::move(file), std::move(real));
}

Status prepare_file(const std::string& path, bool create) {
  struct stat status{};
  if (::stat(path.c_str(), &status) == 0) {
    if (!S_ISREG(status.st_mode)) {
      return fail(ErrorCode::kInvalidConfig, "the path of the database is not a regular file");
    }
    if ((status.st_mode & 0077) != 0 && ::chmod(path.c_str(), 0600) != 0) {
      return failed("the database is readable by others, and that cannot be changed");
    }
    return {};
  }
  if (errno != ENOENT) {
    return failed("the database cannot be opened");
  }
  if (!create) {
    return fail(ErrorCode::kNotFound, "there is no database yet; initialise the service first");
  }
  const Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) {
    return failed("the database cannot be created");
  }
  return sync_folder_of(path);
}

Status migrate(Connection& connection) {
  ASSAY_ASSIGN(const std::int64_t application, connection.integer("PRAGMA application_id"));
  ASSAY_ASSIGN(const std::int64_t version, connection.integer("PRAGMA user_version"));
  ASSAY_ASSIGN(const std::int64_t objects,
               connection.integer("SELECT count(*) FROM sqlite_schema"));
  const bool empty = application == 0 && version == 0 && objects == 0;
  if (!empty && application != kApplicationId) {
    return fail(ErrorCode::kInvalidConfig,
                "the file is marked as the database of another program (application_id); if it is "
                "that of this service, run assayd repair");
  }
  const auto newest = static_cast<std::int64_t>(embedded::kMigrationsFiles.size());
  if (version > newest || (version == 0 && !empty)) {
    return fail(ErrorCode::kInvalidConfig,
                "the database is marked as one of another version of this program (user_version); "
                "use that one, or run assayd repair if there was none");
  }
  if (version == newest) {
    return {};
  }
  ASSAY_TRY(connection.execute("BEGIN IMMEDIATE"));
  Status applied = apply_migrations(connection, version);
  if (applied) {
    applied = connection.execute("COMMIT");
  }
  if (!applied && connection.in_transaction()) {
    static_cast<void>(connection.execute("ROLLBACK"));
  }
  return applied;
}

Status check_file_marks(Connection& connection) {
  ASSAY_ASSIGN(const std::int64_t application, connection.integer("PRAGMA application_id"));
  ASSAY_ASSIGN(const std::int64_t version, connection.integer("PRAGMA user_version"));
  const bool right =
      application == kApplicationId && std::cmp_equal(version, embedded::kMigrationsFiles.size());
  return right ? Status()
               : fail(ErrorCode::kDataLoss,
                      "they do not mark the file as one of this version of the program: a file of "
                      "another version is for that one, assayd repair marks any other again");
}

Status put_file_marks(Connection& connection) {
  const std::string marks =
      "PRAGMA application_id=" + std::to_string(kApplicationId) +
      "; PRAGMA user_version=" + std::to_string(embedded::kMigrationsFiles.size());
  return connection.execute(marks.c_str());
}

}  // namespace assay::storage::sqlite
