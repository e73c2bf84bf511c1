// SPDX-License-Identifier: Apache-2.0
// One use of a prepared statement: bind, step, read, and reset when it goes.
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

// Every statement of sql.def.
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
// True for statements that read a whole table on purpose.
[[nodiscard]] bool reads_whole_table(Sql sql);

// What a result code of SQLite means to callers. The detail holds neither SQL nor paths.
[[nodiscard]] Error sqlite_error(int extended_code);

// Errors of binding are kept and returned by next() or run(). Every error of the database is also
// put into `failure` (when there is none yet), so that a transaction cannot go on as if nothing
// had happened.
class Query {
 public:
  // `statement` may be null when preparing failed with `error`.
  Query(sqlite3_stmt* statement, std::optional<Error> error, std::optional<Error>& failure);
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  ~Query();

  // Parameters in the order of their numbers.
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
  // As bind(), without a copy: `bytes` must outlive this query.
  Query& bind_borrowed(ByteView bytes);

  // Goes to the next row; false behind the last one.
  [[nodiscard]] Result<bool> next();
  // Runs a statement that returns no rows.
  [[nodiscard]] Status run();

  // Columns of the current row, from 0.
  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] bool is_integer(int column) const;
  // SQLite's number of the type that is stored.
  [[nodiscard]] std::uint8_t type(int column) const;
  [[nodiscard]] int columns() const;
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::uint64_t count(int column) const;
  [[nodiscard]] Timestamp time(int column) const;
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] Bytes bytes(int column) const;
  // Of a text or blob, until the next row.
  [[nodiscard]] ByteView view(int column) const;
  // data-loss when the column is no digest.
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
