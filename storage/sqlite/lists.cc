// SPDX-License-Identifier: Apache-2.0
// Sorted lists intersected by skipping: every filter is asked for its first row from a candidate
// on; whoever is ahead sets the next candidate. The cost follows the rarest filter, not the log.
#include "storage/sqlite/lists.h"

#include <algorithm>

namespace assay::storage::sqlite {
namespace {

constexpr std::size_t kMaxLimit = 1000;
// Index look-ups of one call; a search that needs more goes on in the next page. Some 20 ms.
constexpr std::size_t kMaxSeeks = 16384;

// Later than any time that can be written (year 9999), far from overflow.
constexpr std::int64_t kEndOfTime = std::int64_t{1} << 50;

struct Row {
  LeafIndex index;
  std::int64_t time;
  std::int64_t time_high;
};

std::int64_t milliseconds(Timestamp time) { return time.time_since_epoch().count(); }

Result<std::optional<Row>> row_at(Connection& connection, const List& list, LeafIndex from) {
  Query query = connection.query(list.at);
  ASSAY_ASSIGN(const bool found, query.bind(from).next());
  if (!found) {
    return std::nullopt;
  }
  return Row{query.count(0), query.integer(1), query.integer(2)};
}

// The smallest index in [begin, end] from which on every row has a time_high of at least `bound`.
Result<LeafIndex> first_reaching(Connection& connection, const List& list, LeafIndex begin,
                                 LeafIndex end, std::int64_t bound) {
  while (begin < end) {
    const LeafIndex middle = begin + (end - begin) / 2;
    ASSAY_ASSIGN(const auto row, row_at(connection, list, middle));
    if (!row || row->index >= end || row->time_high >= bound) {
      end = middle;
    } else {
      begin = row->index + 1;
    }
  }
  return begin;
}

Result<std::int64_t> max_lag(Connection& connection, const List& list) {
  Query query = connection.query(Sql::kLagGet);
  ASSAY_ASSIGN(const bool found, query.bind(list.name).next());
  if (!found) {
    return fail(ErrorCode::kDataLoss, "a row about the order of times is missing");
  }
  return query.integer(0);
}

// Places of rows in the order in which they are read, from 0: upwards that is the index, downwards
// the distance from the last index.
class Axis {
 public:
  Axis(bool down, TreeSize size) : down_(down), last_(size == 0 ? 0 : size - 1) {}
  // Its own inverse.
  [[nodiscard]] LeafIndex turn(LeafIndex index) const { return down_ ? last_ - index : index; }
  [[nodiscard]] bool down() const { return down_; }

 private:
  bool down_;
  LeafIndex last_;
};

// Begin and end are places.
class Searcher {
 public:
  Searcher(Connection& connection, const Search& search, Axis axis, LeafIndex begin, LeafIndex end)
      : connection_(connection), search_(search), axis_(axis), begin_(begin), end_(end) {}

  // True when it is time to stop at `candidate`. Never before the first step, so that a caller who
  // goes on from there gets ahead.
  [[nodiscard]] bool exhausted(LeafIndex candidate) const {
    return seeks_ >= kMaxSeeks && candidate > begin_;
  }

  // The first row from `from` on that passes all filters and the time bounds; end_ when there is
  // none. When exhausted() there, it is only known that no row before the result matches.
  Result<LeafIndex> next(LeafIndex from) {
    while (true) {
      ASSAY_ASSIGN(const LeafIndex candidate, next_filtered(from));
      if (candidate >= end_ || exhausted(candidate) || (!search_.since && !search_.until)) {
        return candidate;
      }
      ++seeks_;
      const LeafIndex index = axis_.turn(candidate);
      ASSAY_ASSIGN(const auto row, row_at(connection_, search_.list, index));
      if (!row || row->index != index) {
        return fail(ErrorCode::kDataLoss, "an index names a row that is missing");
      }
      if ((!search_.since || row->time >= milliseconds(*search_.since)) &&
          (!search_.until || row->time < milliseconds(*search_.until))) {
        return candidate;
      }
      from = candidate + 1;
    }
  }

 private:
  Result<LeafIndex> next_filtered(LeafIndex candidate) {
    if (search_.filters.empty()) {
      Query query = connection_.query(axis_.down() ? *search_.list.at_down : search_.list.at);
      return first_of(query, candidate);
    }
    std::size_t agreed = 0;
    for (std::size_t i = 0;
         agreed < search_.filters.size() && candidate < end_ && !exhausted(candidate);
         i = (i + 1) % search_.filters.size()) {
      ASSAY_ASSIGN(const LeafIndex found, seek(search_.filters[i], candidate));
      agreed = found == candidate ? agreed + 1 : 1;
      candidate = found;
    }
    return std::min(candidate, end_);
  }

  // The place of the first row that the query gives from a place on.
  Result<LeafIndex> first_of(Query& query, LeafIndex from) {
    ++seeks_;
    ASSAY_ASSIGN(const bool found, query.bind(axis_.turn(from)).next());
    if (!found) {
      return end_;
    }
    // Whoever went on from an earlier row would see rows twice.
    const LeafIndex place = axis_.turn(query.count(0));
    return place >= from ? Result<LeafIndex>(std::min(place, end_))
                         : fail(ErrorCode::kDataLoss, "an index is not in the order of its rows");
  }

  Result<LeafIndex> seek(const Filter& filter, LeafIndex from) {
    LeafIndex first = end_;
    for (const Term& term : filter) {
      Query query = connection_.query(term.sql);
      std::visit([&](const auto& value) { query.bind(value); }, term.value);
      ASSAY_ASSIGN(const LeafIndex found, first_of(query, from));
      first = std::min(first, found);
    }
    return first;
  }

  Connection& connection_;
  const Search& search_;
  Axis axis_;
  LeafIndex begin_;
  LeafIndex end_;
  std::size_t seeks_ = 0;
};

// Indexes from `begin` to before `end` that may match the time bounds, of those from `begin` to
// before `end`.
struct Run {
  LeafIndex begin;
  LeafIndex end;
};

Result<Run> within_times(Connection& connection, const Search& search, Run run) {
  if (search.since) {
    ASSAY_ASSIGN(run.begin, first_reaching(connection, search.list, run.begin, run.end,
                                           milliseconds(*search.since)));
  }
  if (search.until) {
    // From here on even the time of a row that lies behind others is too late.
    ASSAY_ASSIGN(const std::int64_t lag, max_lag(connection, search.list));
    const std::int64_t until = std::min(milliseconds(*search.until), kEndOfTime);
    ASSAY_ASSIGN(run.end, first_reaching(connection, search.list, run.begin, run.end,
                                         until + std::min(lag, kEndOfTime)));
  }
  return run;
}

// Places of a run, in the order in which they are read.
Run places(const Axis& axis, const Run& run) {
  if (run.begin >= run.end) {
    return {0, 0};
  }
  return axis.down() ? Run{axis.turn(run.end - 1), axis.turn(run.begin) + 1} : run;
}

// All that match, without regard to where a page begins: one search's worth of looking.
Result<Total> count(Connection& connection, const Search& search, Axis axis, Run run) {
  ASSAY_ASSIGN(run, within_times(connection, search, run));
  run = places(axis, run);
  Searcher searcher(connection, search, axis, run.begin, run.end);
  Total total{.rows = 0, .exact = true};
  for (LeafIndex from = run.begin; from < run.end; /* behind the last hit */) {
    ASSAY_ASSIGN(const LeafIndex hit, searcher.next(from));
    if (hit >= run.end) {
      break;
    }
    if (searcher.exhausted(hit)) {
      total.exact = false;
      break;
    }
    ++total.rows;
    from = hit + 1;
  }
  return total;
}

}  // namespace

Result<std::int64_t> note_time(Connection& connection, const List& list, std::int64_t time_high,
                               Timestamp time) {
  const std::int64_t now = milliseconds(time);
  if (now >= time_high) {
    return now;
  }
  ASSAY_ASSIGN(const std::int64_t known, max_lag(connection, list));
  if (time_high - now > known) {
    ASSAY_TRY(connection.query(Sql::kLagPut).bind(list.name).bind(time_high - now).run());
  }
  return time_high;
}

Result<Found> search(Connection& connection, const Search& search, TreeSize size) {
  const ListBounds& bounds = search.bounds;
  if (bounds.limit < 1 || bounds.limit > kMaxLimit) {
    return fail(ErrorCode::kInvalidParameter, "the limit of a page is 1 to 1000");
  }
  const Axis axis(search.list.at_down.has_value(), size);
  Run run{0, std::min(bounds.below.value_or(size), size)};
  Found found;
  if (search.with_total) {
    ASSAY_ASSIGN(found.total, count(connection, search, axis, run));
  }
  if (bounds.after && axis.down()) {
    run.end = std::min(run.end, *bounds.after);
  } else if (bounds.after) {
    run.begin = *bounds.after < run.end ? *bounds.after + 1 : run.end;
  }
  ASSAY_ASSIGN(run, within_times(connection, search, run));
  run = places(axis, run);
  Searcher searcher(connection, search, axis, run.begin, run.end);
  for (LeafIndex from = run.begin; from < run.end; /* behind the last hit */) {
    ASSAY_ASSIGN(const LeafIndex hit, searcher.next(from));
    if (hit >= run.end) {
      break;
    }
    if (found.indexes.size() == bounds.limit || searcher.exhausted(hit)) {
      found.next = axis.turn(hit - 1);
      break;
    }
    found.indexes.push_back(axis.turn(hit));
    from = hit + 1;
  }
  return found;
}

}  // namespace assay::storage::sqlite
