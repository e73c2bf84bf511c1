// SPDX-License-Identifier: Apache-2.0
// One use of a prepared statement: bind, step, read. The statement is reset on destruction.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "schemas/core/clock.h"
#include "schemas/core/digest.h"
#include "schemas/core/ids.h"
#include "storage/sqlite/handles.h"

namespace assay::storage::sqlite {

// All statements of sql.def.
enum class Sql : std::uint8_t {
#define ASSAY_SQL(enumerator, access, text) enumerator,
#include "storage/sqlite/sql.def"
#undef ASSAY_SQL
};
inline constexpr std::size_t kSqlCount = 0
#define ASSAY_SQL(enumerator, access, text) +1
#include "storage/sqlite/sql.def"
#undef ASSAY_SQL
    ;
[[nodiscard]] std::string_view sql_text(Sql sql);
// Returns true for the few statements that are meant to read a whole table.
[[nodiscard]] bool reads_whole_table(Sql sql);

// Converts a result code of SQLite to an error. The detail contains neither SQL nor paths.
[[nodiscard]] Error sqlite_error(int extended_code);

// A running statement. next() and run() return the errors of earlier bind() calls. The first
// database error is also stored in the `failure` given to the constructor, so that a transaction
// cannot continue as if the error had not happened.
class Query {
 public:
  // `statement` may be null when `error` says why the statement could not be prepared.
  Query(sqlite3_stmt* statement, std::optional<Error> error, std::optional<Error>& failure);
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  ~Query();

  // Each call binds the next parameter, in the order of their numbers.
  template <std::integral T>
  Query& bind(T value) {
    return std::in_range<std::int64_t>(value) ? bind_integer(static_cast<std::int64_t>(value))
                                              : bind_too_large();
  }
  Query& bind(Timestamp value) { return bind_integer(value.time_since_epoch().count()); }
  Query& bind(std::string_view text);
  Query& bind(ByteView bytes);
  Query& bind(const Digest& digest) { return bind(digest.bytes()); }
  template <typename Tag>
  Query& bind(const DigestId<Tag>& id) {
    return bind(id.digest());
  }
  Query& bind_null();
  // Binds without a copy: `bytes` must outlive this query.
  Query& bind_borrowed(ByteView bytes);

  // Advances to the next row. Returns false after the last row.
  [[nodiscard]] Result<bool> next();
  // Runs a statement that returns no rows.
  [[nodiscard]] Status run();

  // Columns of the current row, counted from 0.
  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] bool is_integer(int column) const;
  // Returns SQLite's number for the stored type.
  [[nodiscard]] std::uint8_t type(int column) const;
  [[nodiscard]] int columns() const;
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::uint64_t count(int column) const;
  [[nodiscard]] Timestamp time(int column) const;
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] Bytes bytes(int column) const;
  // Borrows a text or blob; valid until the next row.
  [[nodiscard]] ByteView view(int column) const;
  // Errors: data-loss when the column holds no digest.
  [[nodiscard]] Result<Digest> digest(int column) const;

 private:
  Query& bind_integer(std::int64_t value);
  Query& bind_too_large();
  Query& bound(int code);
  std::unexpected<Error> failed(int code);

  sqlite3_stmt* statement_;
  std::optional<Error> error_;
  std::optional<Error>& failure_;
  int parameter_ = 0;
};

}  // namespace assay::storage::sqlite
