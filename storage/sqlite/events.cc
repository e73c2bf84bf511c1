// SPDX-License-Identifier: Apache-2.0
// Events are found by index rows and answered from the record's own bytes.
#include "storage/sqlite/events.h"

#include "storage/sqlite/log_tables.h"

namespace assay::storage::sqlite {
namespace {

// One term, read by `sql`, for each type in the log that begins with `prefix` (which ends in '.'):
// types are few, and each is found by one step in the index.
Result<Filter> types_below(Connection& connection, const std::string& prefix, Sql sql) {
  Filter filter;
  std::string end = prefix;
  ++end.back();
  std::string after = prefix;
  while (true) {
    Query query = connection.query(Sql::kEventNextType);
    ASSAY_ASSIGN(const bool found, query.bind(after).bind(end).next());
    if (!found) {
      return filter;
    }
    after = query.text(0);
    filter.push_back({sql, after});
  }
}

}  // namespace

Result<Found> find_events(Connection& connection, const EventQuery& query, TreeSize size) {
  const bool down = query.newest_first;
  Search wanted{down ? kEventsNewestFirst : kEvents, {}, query.since, query.until, query.bounds};
  if (!query.subject.empty()) {
    const Sql sql = down ? Sql::kEventBySubjectDown : Sql::kEventBySubject;
    wanted.filters.push_back({Term{sql, query.subject}});
  }
  if (!query.actor.empty()) {
    const Sql sql = down ? Sql::kEventByActorDown : Sql::kEventByActor;
    wanted.filters.push_back({Term{sql, query.actor}});
  }
  const Sql by_type = down ? Sql::kEventByTypeDown : Sql::kEventByType;
  if (query.type.ends_with('.')) {
    ASSAY_ASSIGN(Filter types, types_below(connection, query.type, by_type));
    wanted.filters.push_back(std::move(types));
  } else if (!query.type.empty()) {
    wanted.filters.push_back({Term{by_type, query.type}});
  }
  return search(connection, wanted, size);
}

Result<EventRow> load_event(Connection& connection, LeafIndex index) {
  ASSAY_ASSIGN(const Bytes bytes, load_record(connection, index));
  auto record = parse_log_record(bytes);
  if (!record) {
    return fail(ErrorCode::kDataLoss, "a stored log record cannot be read");
  }
  return EventRow{index, std::move(*record)};
}

}  // namespace assay::storage::sqlite
