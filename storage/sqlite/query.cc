// SPDX-License-Identifier: Apache-2.0
// Binding, stepping and reading with every result code looked at.
#include "storage/sqlite/query.h"

#include <array>

namespace assay::storage::sqlite {
namespace {

// NOLINTNEXTLINE(readability-identifier-naming): the words of sql.def
enum class Access : bool { keyed, whole };

struct SqlRow {
  std::string_view text;
  Access access;
};

constexpr std::array<SqlRow, kSqlCount> kTable = {{
#define ASSAY_SQL(enumerator, access, text) {text, Access::access},
#include "storage/sqlite/sql.def"
#undef ASSAY_SQL
}};

}  // namespace

std::string_view sql_text(Sql sql) { return kTable.at(static_cast<std::size_t>(sql)).text; }

bool reads_whole_table(Sql sql) {
  return kTable.at(static_cast<std::size_t>(sql)).access == Access::whole;
}

Error sqlite_error(int extended_code) {
  const std::string what = std::string(sqlite3_errstr(extended_code)) + " (SQLite code " +
                           std::to_string(extended_code) + ")";
  switch (extended_code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return {ErrorCode::kDataLoss, "the database file is damaged: " + what, {}};
    case SQLITE_FULL:
      return {ErrorCode::kStorage, "the disk is full: " + what, {}};
    case SQLITE_CONSTRAINT:
    case SQLITE_MISUSE:
    case SQLITE_RANGE:
    case SQLITE_MISMATCH:
      return {ErrorCode::kInternal, "the database refused a row: " + what, {}};
    default:
      return {ErrorCode::kStorage, "the database failed: " + what, {}};
  }
}

Query::Query(sqlite3_stmt* statement, std::optional<Error> error, std::optional<Error>& failure)
    : statement_(statement), error_(std::move(error)), failure_(failure) {
  if (error_ && !failure_) {
    failure_ = error_;
  }
}

Query::~Query() {
  if (statement_ != nullptr) {
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
  }
}

std::unexpected<Error> Query::failed(int code) {
  error_ = sqlite_error(code);
  if (!failure_) {
    failure_ = error_;
  }
  return std::unexpected(*error_);
}

Query& Query::bound(int code) {
  if (code != SQLITE_OK && !error_) {
    static_cast<void>(failed(code));
  }
  return *this;
}

Query& Query::bind_integer(std::int64_t value) {
  return bound(sqlite3_bind_int64(statement_, ++parameter_, value));
}

// A caller's number, not a fault of the database: `failure_` stays as it is.
Query& Query::bind_too_large() {
  ++parameter_;
  if (!error_) {
    error_ = Error{ErrorCode::kInvalidParameter, "a number is too large to be stored", {}};
  }
  return *this;
}

// The empty view may have a null pointer, which SQLite would take for NULL.
Query& Query::bind(std::string_view text) {
  return bound(sqlite3_bind_text64(statement_, ++parameter_, text.empty() ? "" : text.data(),
                                   text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
}

Query& Query::bind(ByteView bytes) {
  return bound(bytes.empty() ? sqlite3_bind_zeroblob(statement_, ++parameter_, 0)
                             : sqlite3_bind_blob64(statement_, ++parameter_, bytes.data(),
                                                   bytes.size(), SQLITE_TRANSIENT));
}

Query& Query::bind_borrowed(ByteView bytes) {
  return bound(bytes.empty() ? sqlite3_bind_zeroblob(statement_, ++parameter_, 0)
                             : sqlite3_bind_blob64(statement_, ++parameter_, bytes.data(),
                                                   bytes.size(), SQLITE_STATIC));
}

Query& Query::bind_null() { return bound(sqlite3_bind_null(statement_, ++parameter_)); }

Result<bool> Query::next() {
  if (error_) {
    return std::unexpected(*error_);
  }
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) {
    return true;
  }
  if (code == SQLITE_DONE) {
    return false;
  }
  return failed(sqlite3_extended_errcode(sqlite3_db_handle(statement_)));
}

Status Query::run() {
  ASSAY_ASSIGN(const bool row, next());
  if (row) {
    return failed(SQLITE_MISUSE);
  }
  return {};
}

bool Query::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

bool Query::is_integer(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_INTEGER;
}

std::uint8_t Query::type(int column) const {
  return static_cast<std::uint8_t>(sqlite3_column_type(statement_, column));
}

int Query::columns() const { return sqlite3_column_count(statement_); }

std::int64_t Query::integer(int column) const { return sqlite3_column_int64(statement_, column); }

std::uint64_t Query::count(int column) const { return static_cast<std::uint64_t>(integer(column)); }

Timestamp Query::time(int column) const {
  return Timestamp(std::chrono::milliseconds(integer(column)));
}

std::string Query::text(int column) const {
  const Bytes raw = bytes(column);
  return {raw.begin(), raw.end()};
}

ByteView Query::view(int column) const {
  const auto* data = static_cast<const std::uint8_t*>(sqlite3_column_blob(statement_, column));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  return data == nullptr ? ByteView() : ByteView(data, size);
}

Bytes Query::bytes(int column) const {
  const ByteView found = view(column);
  return {found.begin(), found.end()};
}

Result<Digest> Query::digest(int column) const {
  const auto* data = static_cast<const std::uint8_t*>(sqlite3_column_blob(statement_, column));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  if (data != nullptr) {
    for (const HashAlgorithm algorithm : {HashAlgorithm::kSha256, HashAlgorithm::kSha384}) {
      if (size == digest_size(algorithm)) {
        return Digest::wrap(algorithm, data);
      }
    }
  }
  return fail(ErrorCode::kDataLoss, "a stored digest has the wrong length");
}

}  // namespace assay::storage::sqlite
