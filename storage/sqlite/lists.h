// SPDX-License-Identifier: Apache-2.0
// Lists in log order: which rows match a query, found by walking the indexes of all its filters at
// once, and time bounds turned into runs of the log.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "storage/sqlite/connection.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

// A table with `time` and `time_high`, and its statements.
struct List {
  std::string_view name;  // in time_order
  Sql at;                 // first row from ?1 on: index, time, time_high
  // Of a list that is read from its end: the last row up to ?1.
  std::optional<Sql> at_down{};
};
inline constexpr List kEvents = {"events", Sql::kEventAt};
inline constexpr List kStatements = {"statements", Sql::kStatementAt};
inline constexpr List kDecisions = {"decisions", Sql::kDecisionAt};
inline constexpr List kDecisionsNewestFirst = {"decisions", Sql::kDecisionAt, Sql::kDecisionAtDown};

// Takes the time of a new last row into account: returns its time_high, given that of the row
// before.
[[nodiscard]] Result<std::int64_t> note_time(Connection& connection, const List& list,
                                             std::int64_t time_high, Timestamp time);

// Rows with one value, in log order.
struct Term {
  Sql sql;  // first row from ?2 on whose value is ?1; of a list read from its end, the last up to
            // it
  std::variant<std::int64_t, std::string, Bytes> value;
};
// Rows that match one of several terms.
using Filter = std::vector<Term>;

struct Search {
  List list;
  std::vector<Filter> filters;  // all must match; none means every row
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

// `size` is the size of the log. invalid-parameter for a limit outside 1 to 1000.
[[nodiscard]] Result<Found> search(Connection& connection, const Search& search, TreeSize size);

}  // namespace assay::storage::sqlite
