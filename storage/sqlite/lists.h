// SPDX-License-Identifier: Apache-2.0
// Searches lists (statements, decisions, log records) in log order. Finds the rows that match all
// filters of a query by walking the indexes of the filters together. Bounds in time become ranges
// of log indexes, since the times of log records never go back.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "storage/sqlite/connection.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

// The SQL statements that read a list.
struct List {
  Sql at;  // reads the rows from ?1 on
  // Set for a list that is read from its end towards its start: reads the rows up to ?1.
  std::optional<Sql> at_down{};
};
inline constexpr List kEvents = {Sql::kEventAt};
inline constexpr List kEventsNewestFirst = {Sql::kEventAt, Sql::kEventAtDown};
inline constexpr List kStatements = {Sql::kStatementAt};
inline constexpr List kDecisions = {Sql::kDecisionAt};
inline constexpr List kDecisionsNewestFirst = {Sql::kDecisionAt, Sql::kDecisionAtDown};

// The rows that have one value in an indexed column, in log order.
struct Term {
  // Reads the rows from ?2 on with value ?1. For a list that is read from its end: those up to ?2,
  // the last one first.
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
