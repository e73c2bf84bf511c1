// SPDX-License-Identifier: Apache-2.0
// Copies are made beside their final name, and get it when they are whole.
#include "storage/backup.h"

#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "storage/durable_file.h"
#include "storage/sqlite/connection.h"
#include "storage/sqlite/database_file.h"
#include "storage/sqlite/log_tables.h"

namespace assay::storage {
namespace sqlite {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPart = ".part";
constexpr const char* kBefore = ".before-restore";
// What SQLite keeps beside a database.
constexpr std::array<const char*, 2> kBeside = {"-wal", "-shm"};

Status status_of(const std::error_code& error, const std::string& path) {
  return error ? fail(ErrorCode::kStorage, error.message(), path) : Status();
}

void remove_database(const std::string& path) {
  std::error_code ignored;
  fs::remove(path, ignored);
  for (const char* const beside : kBeside) {
    fs::remove(path + beside, ignored);
  }
}

// A copy may be behind the anchor: whoever puts it back is told.
Status check_copy(SqliteOptions options, const Signer& signer, const Clock& clock,
                  const std::string& path, const Progress& progress) {
  options.path = path;
  ASSAY_ASSIGN(const auto inspection, Inspection::open(options, signer, clock));
  ASSAY_ASSIGN(const auto damages, inspection->find(false, progress));
  for (const Damage& damage : damages) {
    if (damage.check != "anchor") {
      return fail(ErrorCode::kDataLoss,
                  "the database is damaged (see 'assayd check'): " + damage.detail, damage.id);
    }
  }
  return {};
}

Result<TreeSize> copy_of(const std::string& path, const std::string& to, const Progress& progress) {
  ASSAY_ASSIGN(const auto connection, Connection::open(path, Connection::Mode::kReadOnly));
  ASSAY_TRY(connection->query(Sql::kBeginRead).run());
  ASSAY_ASSIGN(const auto state, load_checkpoint(*connection));
  if (!state) {
    return fail(ErrorCode::kDataLoss, "the newest checkpoint is missing");
  }
  ASSAY_TRY(connection->copy_to(to, progress));
  return state->size;
}

// Copies the database at `from`, with its write-ahead log, into a new file at `part`, and checks
// what was copied. Nothing is left at `part` after an error.
Result<TreeSize> checked_copy(const SqliteOptions& options, const Signer& signer,
                              const Clock& clock, const std::string& from, const std::string& part,
                              const Progress& progress) {
  remove_database(part);
  ASSAY_TRY(prepare_file(part, true));
  auto size = copy_of(from, part, progress);
  if (size) {
    if (const Status whole = check_copy(options, signer, clock, part, progress); !whole) {
      size = std::unexpected(whole.error());
    }
  }
  if (!size) {
    remove_database(part);
    return size;
  }
  std::error_code ignored;
  for (const char* const beside : kBeside) {
    fs::remove(part + beside, ignored);
  }
  ASSAY_TRY(sync_file(part));
  return size;
}

Result<Backup> back_up(const SqliteOptions& options, const Signer& signer, const Clock& clock,
                       const std::string& to, const Progress& progress) {
  std::error_code error;
  if (fs::exists(to, error) || error) {
    return error ? Result<Backup>(std::unexpected(status_of(error, to).error()))
                 : fail(ErrorCode::kConflict, "there is a file already", to);
  }
  const std::string part = to + kPart;
  ASSAY_ASSIGN(const TreeSize size,
               checked_copy(options, signer, clock, options.path, part, progress));
  fs::rename(part, to, error);
  ASSAY_TRY(status_of(error, to));
  ASSAY_TRY(sync_folder_of(to));
  return Backup{size, fs::file_size(to, error)};
}

// Moves the database that is there out of the way.
Status set_aside(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    return status_of(error, path);
  }
  const std::string before = path + kBefore;
  if (fs::exists(before, error)) {
    return fail(ErrorCode::kConflict,
                "a database of before an earlier restore is still there: move it away", before);
  }
  for (const char* const beside : kBeside) {
    if (fs::exists(path + beside, error)) {
      fs::rename(path + beside, before + beside, error);
      ASSAY_TRY(status_of(error, path + beside));
    }
  }
  fs::rename(path, before, error);
  return status_of(error, path);
}

Status put_back(const SqliteOptions& options, const Signer& signer, const Clock& clock,
                const std::string& from, const Progress& progress) {
  ASSAY_ASSIGN(const FileLock lock, FileLock::acquire(options.path));
  ASSAY_TRY(prepare_file(from, false));
  const std::string part = lock.path() + kPart;
  ASSAY_TRY(checked_copy(options, signer, clock, from, part, progress));
  ASSAY_TRY(set_aside(lock.path()));
  std::error_code error;
  fs::rename(part, lock.path(), error);
  ASSAY_TRY(status_of(error, lock.path()));
  return sync_folder_of(lock.path());
}

}  // namespace
}  // namespace sqlite

Result<Backup> back_up_sqlite(const SqliteOptions& options, const Signer& log_signer,
                              const Clock& clock, const std::string& to, const Progress& progress) {
  return sqlite::back_up(options, log_signer, clock, to, progress);
}

Status put_back_sqlite(const SqliteOptions& options, const Signer& log_signer, const Clock& clock,
                       const std::string& from, const Progress& progress) {
  return sqlite::put_back(options, log_signer, clock, from, progress);
}

}  // namespace assay::storage
