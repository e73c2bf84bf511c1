// SPDX-License-Identifier: Apache-2.0
// Sorted lists intersected by skipping: every filter is asked for its first row from a candidate
// on; whoever is ahead sets the next candidate. The cost follows the rarest filter, not the log. A
// filter stays where it is in its index: the next row is a step, and only a row far ahead a
// look-up.
#include "storage/sqlite/lists.h"

#include <algorithm>
#include <list>
#include <map>

namespace assay::storage::sqlite {
namespace {

constexpr std::size_t kMaxLimit = 1000;
// The cost at which a search stops, to go on in the next page. Some 10 ms.
constexpr std::size_t kMaxCost = 32768;
constexpr std::size_t kStepCost = 1;  // of the next row of an index
constexpr std::size_t kSeekCost = 8;  // of looking up a row
constexpr std::size_t kMaxSteps = 8;  // to a row, before it is looked up

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

// Keeps a query that goes on.
struct Reader {
  Reader(Connection& connection, Sql sql) : query(connection.query(sql)) {}
  Query query;
};

// The rows of one term in the order in which they are read. Without a term: all rows of the list.
class Cursor {
 public:
  Cursor(Connection& connection, const Axis& axis, Sql sql, const Term* term, LeafIndex end)
      : connection_(connection), axis_(axis), sql_(sql), term_(term), end_(end) {}

  [[nodiscard]] Sql sql() const { return sql_; }
  // Another cursor has the same statement, which then is not kept from one row to the next.
  void share() { shared_ = true; }

  // Returns the place of the first row from a place on, `end` when there is none. A later call has
  // no earlier place. Adds to `cost` what it took.
  Result<LeafIndex> reach(LeafIndex from, std::size_t& cost) {
    for (std::size_t step = 0; reader_ && place_ < from && step < kMaxSteps; ++step) {
      cost += kStepCost;
      ASSAY_TRY(advance(place_ + 1));
    }
    if (!known_ || place_ < from) {
      cost += kSeekCost;
      ASSAY_TRY(look_up(from));
    }
    return place_;
  }

 private:
  Status look_up(LeafIndex from) {
    reader_.reset();
    reader_.emplace(connection_, sql_);
    if (term_ != nullptr) {
      std::visit([&](const auto& value) { reader_->query.bind(value); }, term_->value);
    }
    reader_->query.bind(axis_.turn(from));
    known_ = true;
    return advance(from);
  }
  // To the next row, which is not before `least`.
  Status advance(LeafIndex least) {
    ASSAY_ASSIGN(const bool found, reader_->query.next());
    const LeafIndex place = found ? axis_.turn(reader_->query.count(0)) : end_;
    // Whoever went on from an earlier row would see rows twice.
    if (place < least) {
      return fail(ErrorCode::kDataLoss, "an index is not in the order of its rows");
    }
    place_ = std::min(place, end_);
    if (place_ == end_ || shared_) {
      reader_.reset();
    }
    return {};
  }

  Connection& connection_;
  const Axis& axis_;
  Sql sql_;
  const Term* term_;
  LeafIndex end_;
  std::optional<Reader> reader_{};
  LeafIndex place_ = 0;
  bool known_ = false;  // place_
  bool shared_ = false;
};

// Begin and end are places.
class Searcher {
 public:
  Searcher(Connection& connection, const Search& search, const Axis& axis, LeafIndex begin,
           LeafIndex end)
      : begin_(begin), end_(end) {
    const auto add = [&](std::list<Cursor>& cursors, Sql sql, const Term* term) {
      cursors.emplace_back(connection, axis, sql, term, end);
    };
    for (const Filter& filter : search.filters) {
      auto& cursors = filters_.emplace_back();
      for (const Term& term : filter) {
        add(cursors, term.sql, &term);
      }
    }
    if (filters_.empty()) {
      add(filters_.emplace_back(), axis.down() ? *search.list.at_down : search.list.at, nullptr);
    }
    share_statements();
  }

  // True when it is time to stop at `candidate`. Never before the first step, so that a caller who
  // goes on from there gets ahead.
  [[nodiscard]] bool exhausted(LeafIndex candidate) const {
    return cost_ >= kMaxCost && candidate > begin_;
  }

  // The first row from `from` on that passes all filters; end_ when there is none. When exhausted()
  // there, it is only known that no row before the result matches.
  Result<LeafIndex> next(LeafIndex candidate) {
    std::size_t agreed = 0;
    for (std::size_t i = 0; agreed < filters_.size() && candidate < end_ && !exhausted(candidate);
         i = (i + 1) % filters_.size()) {
      LeafIndex first = end_;
      for (Cursor& cursor : filters_[i]) {
        ASSAY_ASSIGN(const LeafIndex found, cursor.reach(candidate, cost_));
        first = std::min(first, found);
      }
      agreed = first == candidate ? agreed + 1 : 1;
      candidate = first;
    }
    return std::min(candidate, end_);
  }

 private:
  void share_statements() {
    std::map<Sql, Cursor*> users;
    for (auto& filter : filters_) {
      for (Cursor& cursor : filter) {
        if (const auto [other, first] = users.emplace(cursor.sql(), &cursor); !first) {
          cursor.share();
          other->second->share();
        }
      }
    }
  }

  std::vector<std::list<Cursor>> filters_{};
  LeafIndex begin_;
  LeafIndex end_;
  std::size_t cost_ = 0;
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
