// SPDX-License-Identifier: Apache-2.0
#include "storage/sqlite/derived.h"

#include <algorithm>
#include <array>
#include <utility>

#include "storage/sqlite/lists.h"
#include "storage/sqlite/seals.h"
#include "storage/sqlite/statement_tables.h"
#include "storage/sqlite/usage_tables.h"

namespace assay::storage::sqlite {
namespace {

// --- columns of a record

// `high`: compared as well when it is there.
Result<bool> has_right_columns(Connection& connection, const EventRow& event,
                               const std::optional<Timestamp>& high) {
  Query query = connection.query(Sql::kRecordColumns);
  ASSAY_ASSIGN(const bool found, query.bind(event.index).next());
  return found && query.time(0) == event.record.time && (!high || query.time(1) == *high) &&
         query.text(2) == event.record.type && query.text(3) == event.record.actor;
}

// --- the order of times

struct Ordered {
  const List& list;
  const char* table;
  Sql put_high;
};
constexpr std::array kOrdered = {
    Ordered{kEvents, "log_records", Sql::kEventHighPut},
    Ordered{kStatements, "statements", Sql::kStatementHighPut},
    Ordered{kDecisions, "decisions", Sql::kDecisionHighPut},
};

struct OrderedRow {
  LeafIndex index;
  std::int64_t time;
  std::int64_t time_high;
};

Result<std::optional<OrderedRow>> ordered_row(Connection& connection, const List& list,
                                              LeafIndex from) {
  Query query = connection.query(list.at);
  ASSAY_ASSIGN(const bool found, query.bind(from).next());
  if (!found || query.count(0) < from) {
    return std::nullopt;
  }
  return OrderedRow{query.count(0), query.integer(1), query.integer(2)};
}

// How far times lie behind the greatest one before, at most. Calls `wrong` with each row whose
// `time_high` is wrong and the right one, and goes on with what that returns.
using WrongHigh = std::function<Result<std::int64_t>(const OrderedRow& row, std::int64_t right)>;
Result<std::int64_t> walk(Connection& connection, const List& list, const WrongHigh& wrong) {
  std::int64_t lag = 0;
  std::int64_t high = 0;
  for (LeafIndex from = 0;;) {
    ASSAY_ASSIGN(const auto row, ordered_row(connection, list, from));
    if (!row) {
      return lag;
    }
    high = std::max(high, row->time);
    if (row->time_high != high) {
      ASSAY_ASSIGN(high, wrong(*row, high));
    }
    // As unsigned numbers, which may wrap: a damaged time may be anything.
    const std::uint64_t behind =
        static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(row->time);
    lag = std::max(lag, static_cast<std::int64_t>(behind));
    from = row->index + 1;
  }
}

Result<std::optional<std::int64_t>> stored_lag(Connection& connection, const List& list) {
  Query query = connection.query(Sql::kLagGet);
  ASSAY_ASSIGN(const bool found, query.bind(list.name).next());
  return found ? std::optional(query.integer(0)) : std::nullopt;
}

// Each row is held against the one before it, so that one wrong number is told once or twice.
Status compare_order(Connection& connection, const Ordered& ordered, const Tell& tell) {
  const auto wrong = [&](const OrderedRow& row, std::int64_t) -> Result<std::int64_t> {
    tell(std::string(ordered.table) + " " + std::to_string(row.index),
         "its time_high is not the greatest time up to it, so lists by time may be short");
    return row.time_high;
  };
  ASSAY_ASSIGN(const std::int64_t lag, walk(connection, ordered.list, wrong));
  ASSAY_ASSIGN(const auto stored, stored_lag(connection, ordered.list));
  if (stored != std::optional(lag)) {
    tell("time_order " + std::string(ordered.list.name),
         "it does not say how far times go back, so lists by time may be short");
  }
  return {};
}

// --- lists whose row is gone

struct PartOf {
  const char* part;
  const char* whole;
};
constexpr std::array kParts = {
    PartOf{"statement_subjects", "statements"},  PartOf{"statement_inputs", "statements"},
    PartOf{"statement_locations", "statements"}, PartOf{"statement_signers", "statements"},
    PartOf{"statement_envelopes", "statements"}, PartOf{"decision_subjects", "decisions"},
    PartOf{"decision_reasons", "decisions"},
};

std::string without_row(const PartOf& one) {
  return std::string(" FROM ") + one.part + " WHERE NOT EXISTS (SELECT 1 FROM " + one.whole +
         " AS whole WHERE whole.log_index = " + one.part + ".log_index)";
}

Result<std::uint64_t> count_without_row(Connection& connection, const PartOf& one) {
  const std::string sql = "SELECT count(*)" + without_row(one);
  ASSAY_ASSIGN(const std::int64_t count, connection.integer(sql.c_str()));
  return static_cast<std::uint64_t>(count);
}

Status compare_lists(Connection& connection, const Tell& tell) {
  for (const PartOf& one : kParts) {
    ASSAY_ASSIGN(const std::uint64_t count, count_without_row(connection, one));
    if (count > 0) {
      tell(one.part, std::to_string(count) + " rows belong to nothing in " + one.whole);
    }
  }
  return {};
}

// --- statements: what is counted about their topics

Sql index_of(TopicKind kind) {
  switch (kind) {
    case TopicKind::kArtifact:
      return Sql::kStatementBySubject;
    case TopicKind::kName:
      return Sql::kStatementByModelName;
    case TopicKind::kLocation:
      break;
  }
  return Sql::kStatementByLocation;
}

Result<std::optional<LeafIndex>> next_index(Connection& connection, Sql sql,
                                            const std::string& text, LeafIndex from) {
  Query query = connection.query(sql);
  ASSAY_ASSIGN(const bool found, query.bind(text).bind(from).next());
  return found && query.count(0) >= from ? std::optional(query.count(0)) : std::nullopt;
}

Result<std::vector<LeafIndex>> all_about(Connection& connection, const Topic& topic) {
  std::vector<LeafIndex> indexes;
  for (LeafIndex from = 0;;) {
    ASSAY_ASSIGN(const auto index, next_index(connection, index_of(topic.kind), topic.text, from));
    if (!index) {
      return indexes;
    }
    indexes.push_back(*index);
    from = *index + 1;
  }
}

// Goes through all statements, and looks at each topic at the first statement about it.
class StatementWalk {
 public:
  StatementWalk(Connection& connection, const Governance& governance, const Progress& progress,
                const Tell& tell)
      : connection_(connection), governance_(governance), progress_(progress), tell_(tell) {}

  Status run() {
    for (LeafIndex from = 0;;) {
      std::optional<LeafIndex> index;
      {
        Query query = connection_.query(Sql::kStatementNext);
        ASSAY_ASSIGN(const bool found, query.bind(from).next());
        index = found && query.count(0) >= from ? std::optional(query.count(0)) : std::nullopt;
      }
      if (!index) {
        return compare_totals();
      }
      ASSAY_TRY(statement(*index));
      if (++statements_ % 1000 == 0) {
        progress_("statements", statements_);
      }
      from = *index + 1;
    }
  }

 private:
  Status statement(LeafIndex index) {
    const auto row = load_statement_at(connection_, index);
    if (!row) {
      all_read_ = false;  // found by its seal
      return is_damage(row.error()) ? Status() : std::unexpected(row.error());
    }
    std::vector<Topic> seen;
    for (const Topic& topic : topics_of(*row)) {
      const bool again = std::ranges::any_of(
          seen, [&](const Topic& one) { return one.kind == topic.kind && one.text == topic.text; });
      seen.push_back(topic);
      ASSAY_ASSIGN(const auto first, next_index(connection_, index_of(topic.kind), topic.text, 0));
      if (!again && first == index) {
        ASSAY_TRY(about(topic));
      }
    }
    return {};
  }

  Status about(const Topic& topic) {
    ASSAY_ASSIGN(const auto indexes, all_about(connection_, topic));
    const auto rows =
        compare_usage(connection_, governance_, topic, indexes, [&](const std::string& row) {
          tell_("signer_usage " + row, "it is not what the statements say");
        });
    if (!rows && !is_damage(rows.error())) {
      return std::unexpected(rows.error());
    }
    all_read_ = all_read_ && rows.has_value();
    usages_ += rows.value_or(0);
    return topic.kind == TopicKind::kArtifact
               ? at_least(Versioned::kSubject, topic.text, indexes.size())
               : Status();
  }

  // A version that does not fit its seal is found by that.
  Status at_least(Versioned what, const std::string& name, std::uint64_t least) {
    const auto version = load_version(connection_, what, name);
    if (!version && !is_damage(version.error())) {
      return std::unexpected(version.error());
    }
    if (version && *version < least) {
      tell_("versions " + (name.empty() ? "of all statements" : name),
            "it is lower than the number of changes");
    }
    return {};
  }

  Status compare_totals() {
    ASSAY_ASSIGN(const VersionsFound found, look_at_versions(connection_));
    ASSAY_TRY(at_least(Versioned::kAllStatements, {},
                       std::max(statements_ + found.changes, found.newest_change)));
    ASSAY_ASSIGN(const std::int64_t rows, connection_.integer("SELECT count(*) FROM signer_usage"));
    if (all_read_ && std::cmp_not_equal(rows, usages_)) {
      tell_("signer_usage", "it counts what no statement says");
    }
    return {};
  }

  Connection& connection_;
  const Governance& governance_;
  const Progress& progress_;
  const Tell& tell_;
  std::uint64_t statements_ = 0;
  std::uint64_t usages_ = 0;  // rows about topics of statements
  bool all_read_ = true;
};

}  // namespace

Status compare_columns(Connection& connection, const EventRow& event, const Tell& tell) {
  ASSAY_ASSIGN(const bool right, has_right_columns(connection, event, {}));
  if (!right) {
    tell("log_records " + std::to_string(event.index),
         "its time, type or actor is not that of the record, so lists may lack it");
  }
  return {};
}

Result<bool> remake_columns(Connection& connection, const EventRow& event, Timestamp high) {
  ASSAY_ASSIGN(const bool right, has_right_columns(connection, event, high));
  if (!right) {
    ASSAY_TRY(connection.query(Sql::kRecordColumnsPut)
                  .bind(event.index)
                  .bind(event.record.time)
                  .bind(high)
                  .bind(event.record.type)
                  .bind(event.record.actor)
                  .run());
  }
  return !right;
}

Status check_counters(Connection& connection, const Tell& tell) {
  constexpr const char* kChanged = "it was changed by something else than this service";
  ASSAY_ASSIGN(const VersionsFound found, look_at_versions(connection));
  for (const VersionRow& row : found.bad_versions) {
    tell("versions " + row.name, kChanged);
  }
  for (const ChangeRow& row : found.bad_changes) {
    tell("statement_changes " + std::to_string(row.version), kChanged);
  }
  ASSAY_TRY(check_usage_tags(
      connection, [&](const std::string& row) { tell("signer_usage " + row, kChanged); }));
  return {};
}

Status compare_derived(Connection& connection, const Governance& governance,
                       const Progress& progress, const Tell& tell) {
  for (const Ordered& ordered : kOrdered) {
    ASSAY_TRY(compare_order(connection, ordered, tell));
  }
  ASSAY_TRY(compare_lists(connection, tell));
  return StatementWalk(connection, governance, progress, tell).run();
}

Status DerivedRemaker::before() {
  ASSAY_ASSIGN(versions_, look_at_versions(connection_));
  ASSAY_TRY(drop_versions(connection_, versions_));
  if (!versions_.bad_changes.empty()) {
    repaired_.dropped["statement_changes"] = versions_.bad_changes.size();
  }
  ASSAY_TRY(drop_lists());
  return set_usage_aside(connection_);
}

Status DerivedRemaker::drop_lists() {
  for (const PartOf& one : kParts) {
    ASSAY_ASSIGN(const std::uint64_t count, count_without_row(connection_, one));
    if (count > 0) {
      const std::string sql = "DELETE" + without_row(one);
      ASSAY_TRY(connection_.execute(sql.c_str()));
    }
  }
  return {};
}

Status DerivedRemaker::after() {
  ASSAY_TRY(remake_orders());
  ASSAY_TRY(remake_versions());
  ASSAY_ASSIGN(const std::uint64_t counts, recount_usage(connection_, governance_));
  if (counts > 0) {
    repaired_.made["signer_usage"] = counts;
  }
  return {};
}

Status DerivedRemaker::remake_orders() {
  for (const Ordered& ordered : kOrdered) {
    const auto put = [&](const OrderedRow& row, std::int64_t right) -> Result<std::int64_t> {
      ASSAY_TRY(connection_.query(ordered.put_high).bind(row.index).bind(right).run());
      ++repaired_.made[ordered.table];
      return right;
    };
    ASSAY_ASSIGN(const std::int64_t lag, walk(connection_, ordered.list, put));
    ASSAY_ASSIGN(const auto stored, stored_lag(connection_, ordered.list));
    if (stored != std::optional(lag)) {
      ASSAY_TRY(connection_.query(Sql::kLagPut).bind(ordered.list.name).bind(lag).run());
      ++repaired_.made["time_order"];
    }
  }
  return {};
}

// High enough for whoever counts changes: what is kept in memory does not outlive a repair.
Status DerivedRemaker::remake_versions() {
  std::uint64_t made = 0;
  ASSAY_ASSIGN(const auto subjects,
               connection_.texts("SELECT subject FROM statement_subjects ORDER BY subject"));
  for (auto subject = subjects.begin(); subject != subjects.end(); /* the next one */) {
    const auto next = std::find_if(subject, subjects.end(),
                                   [&](const std::string& other) { return other != *subject; });
    ASSAY_ASSIGN(const bool lifted, lift_version(connection_, Versioned::kSubject, *subject,
                                                 static_cast<std::uint64_t>(next - subject)));
    made += lifted ? 1U : 0U;
    subject = next;
  }
  ASSAY_ASSIGN(const auto nodes, connection_.texts("SELECT name FROM nodes"));
  for (const std::string& node : nodes) {
    ASSAY_ASSIGN(const bool lifted, lift_version(connection_, Versioned::kNode, node, 1));
    made += lifted ? 1U : 0U;
  }
  ASSAY_ASSIGN(const VersionsFound found, look_at_versions(connection_));
  ASSAY_ASSIGN(const std::int64_t statements,
               connection_.integer("SELECT count(*) FROM statements"));
  ASSAY_ASSIGN(const bool lifted,
               lift_version(connection_, Versioned::kAllStatements, {},
                            std::max(static_cast<std::uint64_t>(statements) + found.changes,
                                     found.newest_change)));
  made += lifted ? 1U : 0U;
  if (made > 0) {
    repaired_.made["versions"] = made;
  }
  return {};
}

}  // namespace assay::storage::sqlite
