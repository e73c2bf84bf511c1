// SPDX-License-Identifier: Apache-2.0
// Opening with safe settings, and the cache of prepared statements.
#include "storage/sqlite/connection.h"

#include <utility>

namespace assay::storage::sqlite {
namespace {

// Only somebody who opens the file with another program makes us wait at all.
constexpr int kPagesAtOnce = 4096;
constexpr int kBusyTimeoutMs = 5000;
// How long a checkpoint that resets the write-ahead log waits for readers.
constexpr int kResetTimeoutMs = 100;

int record_wal_pages(void* pages, sqlite3*, const char*, int count) {
  *static_cast<int*>(pages) = count;
  return SQLITE_OK;
}

Status check(int code) {
  if (code != SQLITE_OK) {
    return std::unexpected(sqlite_error(code));
  }
  return {};
}

// A switch of sqlite3_db_config, which says what it has become.
Status set(sqlite3* database, int option, int value) {
  int now = -1;
  ASSAY_TRY(check(sqlite3_db_config(database, option, value, &now)));
  if (now != value) {
    return fail(ErrorCode::kStorage, "this SQLite library cannot be configured safely");
  }
  return {};
}

// journal_mode keeps the old mode without an error where the file system cannot do better.
Status set_wal(sqlite3* database) {
  sqlite3_stmt* raw = nullptr;
  ASSAY_TRY(check(sqlite3_prepare_v2(database, "PRAGMA journal_mode=WAL", -1, &raw, nullptr)));
  const StatementHandle statement(raw);
  if (const int code = sqlite3_step(raw); code != SQLITE_ROW) {
    return std::unexpected(sqlite_error(code));
  }
  const auto* mode = sqlite3_column_text(raw, 0);
  if (mode == nullptr || std::string_view(reinterpret_cast<const char*>(mode)) != "wal") {
    return fail(ErrorCode::kStorage, "the file system cannot hold a write-ahead log");
  }
  return {};
}

}  // namespace

bool Connection::has_memory_index() {
  const sqlite3_vfs* const standard = sqlite3_vfs_find(nullptr);
  return standard != nullptr && std::string_view(standard->zName) == "unix";
}

Result<std::unique_ptr<Connection>> Connection::open(const std::string& path, Mode mode,
                                                     Index index) {
  const int access = mode == Mode::kReadWrite ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(
      path.c_str(), &raw,
      access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE,
      index == Index::kMemory ? "unix-excl" : nullptr);
  std::unique_ptr<Connection> connection(new Connection(DatabaseHandle(raw)));
  ASSAY_TRY(check(code));
  ASSAY_TRY(connection->configure(mode));
  return connection;
}

Result<Bytes> Connection::page_of_file(std::int64_t number, int page_size) {
  sqlite3_file* file = nullptr;
  ASSAY_TRY(check(sqlite3_file_control(database_.get(), "main", SQLITE_FCNTL_FILE_POINTER,
                                       static_cast<void*>(&file))));
  if (file == nullptr || file->pMethods == nullptr) {
    return fail(ErrorCode::kStorage, "the database has no file");
  }
  Bytes page(static_cast<std::size_t>(page_size));
  const int code =
      file->pMethods->xRead(file, page.data(), page_size, (number - 1) * std::int64_t{page_size});
  if (code == SQLITE_IOERR_SHORT_READ) {
    return Bytes();
  }
  ASSAY_TRY(check(code));
  return page;
}

Status Connection::copy_to(
    const std::string& path,
    const std::function<void(std::string_view what, std::uint64_t done)>& progress) {
  sqlite3* raw = nullptr;
  const int opened =
      sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE, nullptr);
  const DatabaseHandle target(raw);
  ASSAY_TRY(check(opened));
  sqlite3_backup* const backup = sqlite3_backup_init(raw, "main", database_.get(), "main");
  if (backup == nullptr) {
    return std::unexpected(sqlite_error(sqlite3_extended_errcode(raw)));
  }
  int code = SQLITE_OK;
  while (code == SQLITE_OK) {
    code = sqlite3_backup_step(backup, kPagesAtOnce);
    progress("pages", static_cast<std::uint64_t>(sqlite3_backup_pagecount(backup) -
                                                 sqlite3_backup_remaining(backup)));
  }
  const int finished = sqlite3_backup_finish(backup);
  return code == SQLITE_DONE ? check(finished) : std::unexpected(sqlite_error(code));
}

void Connection::keep_log_on_close() {
  static_cast<void>(set(database_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1));
}

Status Connection::configure(Mode mode) {
  sqlite3* const database = database_.get();
  ASSAY_TRY(set(database, SQLITE_DBCONFIG_DEFENSIVE, 1));
  ASSAY_TRY(set(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0));
  ASSAY_TRY(set(database, SQLITE_DBCONFIG_DQS_DML, 0));
  ASSAY_TRY(set(database, SQLITE_DBCONFIG_DQS_DDL, 0));
  ASSAY_TRY(set(database, SQLITE_DBCONFIG_ENABLE_FKEY, 1));
  ASSAY_TRY(check(sqlite3_busy_timeout(database, kBusyTimeoutMs)));
  sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0);
  ASSAY_TRY(
      execute("PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA temp_store=MEMORY;"
              "PRAGMA synchronous=FULL; PRAGMA cache_size=-16384"));
  if (mode == Mode::kReadOnly) {
    return execute("PRAGMA query_only=ON");
  }
  ASSAY_TRY(set_wal(database));
  ASSAY_TRY(execute("PRAGMA journal_size_limit=67108864"));
  // Checkpoints are the writer's business: after an acknowledgement, not before it.
  ASSAY_TRY(check(sqlite3_wal_autocheckpoint(database, 0)));
  sqlite3_wal_hook(database, record_wal_pages, &wal_pages_);
  return {};
}

Query Connection::query(Sql sql) {
  StatementHandle& slot = statements_.at(static_cast<std::size_t>(sql));
  if (slot == nullptr) {
    const std::string_view text = sql_text(sql);
    sqlite3_stmt* raw = nullptr;
    const int code = sqlite3_prepare_v3(database_.get(), text.data(), static_cast<int>(text.size()),
                                        SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
    slot.reset(raw);
    if (code != SQLITE_OK) {
      return {nullptr, sqlite_error(code), failure_};
    }
  } else if (sqlite3_stmt_busy(slot.get()) != 0) {
    return {nullptr, sqlite_error(SQLITE_MISUSE), failure_};
  }
  return {slot.get(), std::nullopt, failure_};
}

Result<std::int64_t> Connection::integer(const char* sql) {
  sqlite3_stmt* raw = nullptr;
  ASSAY_TRY(check(sqlite3_prepare_v2(database_.get(), sql, -1, &raw, nullptr)));
  const StatementHandle statement(raw);
  if (const int code = sqlite3_step(raw); code != SQLITE_ROW) {
    return std::unexpected(sqlite_error(code));
  }
  return sqlite3_column_int64(raw, 0);
}

Result<std::vector<std::string>> Connection::texts(const char* sql) {
  sqlite3_stmt* raw = nullptr;
  ASSAY_TRY(check(sqlite3_prepare_v2(database_.get(), sql, -1, &raw, nullptr)));
  const StatementHandle statement(raw);
  std::vector<std::string> rows;
  for (;;) {
    const int code = sqlite3_step(raw);
    if (code == SQLITE_DONE) {
      return rows;
    }
    if (code != SQLITE_ROW) {
      return std::unexpected(sqlite_error(code));
    }
    const auto* text = sqlite3_column_text(raw, 0);
    rows.emplace_back(text == nullptr ? "" : reinterpret_cast<const char*>(text));
  }
}

Status Connection::execute(const char* sql) {
  return check(sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr));
}

bool Connection::in_transaction() const { return sqlite3_get_autocommit(database_.get()) == 0; }

Result<bool> Connection::checkpoint(bool reset) {
  if (reset) {
    sqlite3_busy_timeout(database_.get(), kResetTimeoutMs);
  }
  const int mode = reset ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE;
  int pages = 0;
  int copied = -1;
  const int code = sqlite3_wal_checkpoint_v2(database_.get(), nullptr, mode, &pages, &copied);
  sqlite3_busy_timeout(database_.get(), kBusyTimeoutMs);
  if ((code & 0xff) == SQLITE_BUSY) {
    return false;
  }
  ASSAY_TRY(check(code));
  return pages == copied;
}

// A full checkpoint syncs the log before it copies, and the database file after that.
Status Connection::make_durable() {
  int pages = 0;
  int copied = 0;
  ASSAY_TRY(check(sqlite3_wal_checkpoint_v2(database_.get(), nullptr, SQLITE_CHECKPOINT_FULL,
                                            &pages, &copied)));
  if (pages != copied) {
    return fail(ErrorCode::kUnavailable, "another program keeps the database busy");
  }
  return {};
}

}  // namespace assay::storage::sqlite
