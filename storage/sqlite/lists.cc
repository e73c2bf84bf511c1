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

// The smallest index in [begin, end] from which on every record has at least this time.
Result<LeafIndex> first_reaching(Connection& connection, LeafIndex begin, LeafIndex end,
                                 Timestamp time) {
  while (begin < end) {
    const LeafIndex middle = begin + (end - begin) / 2;
    Query query = connection.query(Sql::kEventAt);
    ASSAY_ASSIGN(const bool found, query.bind(middle).next());
    if (!found || query.count(0) >= end || query.time(1) >= time) {
      end = middle;
    } else {
      begin = query.count(0) + 1;
    }
  }
  return begin;
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

  // The first row from `from` on that passes all filters; end_ when there is none. When exhausted()
  // there, it is only known that no row before the result matches.
  Result<LeafIndex> next(LeafIndex candidate) {
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

 private:
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

// Indexes from `begin` to before `end`.
struct Run {
  LeafIndex begin;
  LeafIndex end;
};

// Those of a run whose records are of these times.
Result<Run> within_times(Connection& connection, const Search& search, Run run) {
  if (search.since) {
    ASSAY_ASSIGN(run.begin, first_reaching(connection, run.begin, run.end, *search.since));
  }
  if (search.until) {
    ASSAY_ASSIGN(run.end, first_reaching(connection, run.begin, run.end, *search.until));
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
