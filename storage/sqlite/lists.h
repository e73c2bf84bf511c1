// SPDX-License-Identifier: Apache-2.0
// Searches lists (statements, decisions, log records) in log order. Finds the rows that match all
// filters of a query by walking the indexes of the filters together. Bounds in time are converted
// to ranges of log indexes.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "storage/sqlite/connection.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

// A table with the columns `time` and `time_high`, and the SQL statements that read it. `time_high`
// is the latest `time` of this and all earlier rows.
struct List {
  std::string_view name;  // name of the list in the table time_order
  Sql at;                 // reads the first row from ?1 on: index, time, time_high
  // Set for a list that is read from its end towards its start: reads the last row up to ?1.
  std::optional<Sql> at_down{};
};
inline constexpr List kEvents = {"events", Sql::kEventAt};
inline constexpr List kStatements = {"statements", Sql::kStatementAt};
inline constexpr List kDecisions = {"decisions", Sql::kDecisionAt};
inline constexpr List kDecisionsNewestFirst = {"decisions", Sql::kDecisionAt, Sql::kDecisionAtDown};

// Records the time of a row that is added at the end. `time_high` is that of the row before the new
// one. Returns the time_high of the new row.
[[nodiscard]] Result<std::int64_t> note_time(Connection& connection, const List& list,
                                             std::int64_t time_high, Timestamp time);

// The rows that have one value in an indexed column, in log order.
struct Term {
  // Reads the first row from ?2 on with value ?1. For a list that is read from its end: the last
  // such row up to ?2.
  Sql sql;
  std::variant<std::int64_t, std::string, Bytes> value;
};
// The rows that match at least one of several terms.
using Filter = std::vector<Term>;

struct Search {
  List list;
  std::vector<Filter> filters;  // all must match; empty: every row
  std::optional<Timestamp> since;
  std::optional<Timestamp> until;
  ListBounds bounds;
  bool with_total = false;
};

struct Found {
  std::vector<LeafIndex> indexes;
  std::optional<LeafIndex> next;
  std::optional<Total> total{};
};

// Finds the rows of one page. `size` is the size of the log. Errors: invalid-parameter for a limit
// outside of 1 to 1000.
[[nodiscard]] Result<Found> search(Connection& connection, const Search& search, TreeSize size);

}  // namespace assay::storage::sqlite
