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

class Searcher {
 public:
  Searcher(Connection& connection, const Search& search, LeafIndex begin, LeafIndex end)
      : connection_(connection), search_(search), begin_(begin), end_(end) {}

  // True when it is time to stop at `candidate`. Never before the first step, so that a caller who
  // goes on from there gets ahead.
  [[nodiscard]] bool exhausted(LeafIndex candidate) const {
    return seeks_ >= kMaxSeeks && candidate > begin_;
  }

  // The first row from `from` on that passes all filters and the time bounds; end_ when there is
  // none. When exhausted() there, it is only known that no row below the result matches.
  Result<LeafIndex> next(LeafIndex from) {
    while (true) {
      ASSAY_ASSIGN(const LeafIndex candidate, next_filtered(from));
      if (candidate >= end_ || exhausted(candidate) || (!search_.since && !search_.until)) {
        return candidate;
      }
      ++seeks_;
      ASSAY_ASSIGN(const auto row, row_at(connection_, search_.list, candidate));
      if (!row || row->index != candidate) {
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
      ++seeks_;
      ASSAY_ASSIGN(const auto row, row_at(connection_, search_.list, candidate));
      return row ? std::min(row->index, end_) : end_;
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

  Result<LeafIndex> seek(const Filter& filter, LeafIndex from) {
    LeafIndex first = end_;
    for (const Term& term : filter) {
      ++seeks_;
      Query query = connection_.query(term.sql);
      std::visit([&](const auto& value) { query.bind(value); }, term.value);
      ASSAY_ASSIGN(const bool found, query.bind(from).next());
      if (found) {
        first = std::min(first, query.count(0));
      }
    }
    return first;
  }

  Connection& connection_;
  const Search& search_;
  LeafIndex begin_;
  LeafIndex end_;
  std::size_t seeks_ = 0;
};

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
  LeafIndex end = std::min(bounds.below.value_or(size), size);
  if (bounds.after && *bounds.after >= end) {
    return Found{};
  }
  LeafIndex begin = bounds.after ? *bounds.after + 1 : 0;
  if (search.since) {
    ASSAY_ASSIGN(begin,
                 first_reaching(connection, search.list, begin, end, milliseconds(*search.since)));
  }
  if (search.until) {
    // From here on even the time of a row that lies behind others is too late.
    ASSAY_ASSIGN(const std::int64_t lag, max_lag(connection, search.list));
    const std::int64_t until = std::min(milliseconds(*search.until), kEndOfTime);
    ASSAY_ASSIGN(end, first_reaching(connection, search.list, begin, end, until + lag));
  }
  Found found;
  Searcher searcher(connection, search, begin, end);
  for (LeafIndex from = begin; from < end; /* behind the last hit */) {
    ASSAY_ASSIGN(const LeafIndex hit, searcher.next(from));
    if (hit >= end) {
      break;
    }
    if (found.indexes.size() == bounds.limit || searcher.exhausted(hit)) {
      found.next = hit - 1;
      break;
    }
    found.indexes.push_back(hit);
    from = hit + 1;
  }
  return found;
}

}  // namespace assay::storage::sqlite
