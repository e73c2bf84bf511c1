// SPDX-License-Identifier: Apache-2.0
#include "storage/sqlite/derived.h"

#include <algorithm>
#include <array>
#include <utility>

#include "storage/sqlite/sealed_lists.h"
#include "storage/sqlite/seals.h"
#include "storage/sqlite/statement_tables.h"
#include "storage/sqlite/usage_tables.h"

namespace assay::storage::sqlite {
namespace {

// --- columns of a record

Result<bool> has_right_columns(Connection& connection, const EventRow& event) {
  Query query = connection.query(Sql::kRecordColumns);
  ASSAY_ASSIGN(const bool found, query.bind(event.index).next());
  return found && query.time(0) == event.record.time && query.text(1) == event.record.type &&
         query.text(2) == event.record.actor;
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

// --- lists that decisions read as a whole

Status compare_whole_lists(Connection& connection, const Progress& progress, const Tell& tell) {
  std::uint64_t statements = 0;
  for (LeafIndex from = 0;;) {
    LeafIndex index = 0;
    {
      Query query = connection.query(Sql::kStatementAt);
      ASSAY_ASSIGN(const bool found, query.bind(from).next());
      index = found ? query.count(0) : 0;
      if (!found || index < from) {  // only a damaged table leads back
        return {};
      }
    }
    const auto row = load_statement_at(connection, index);
    const Status whole = row ? check_lists(connection, *row) : std::unexpected(row.error());
    if (!whole && !is_damage(whole.error())) {
      return whole;
    }
    if (row && !whole) {  // a damaged row is found by its seal
      tell(whole.error().where, whole.error().detail);
    }
    if (++statements % 1000 == 0) {
      progress("statements", statements);
    }
    from = index + 1;
  }
}

}  // namespace

Status compare_columns(Connection& connection, const EventRow& event, const Tell& tell) {
  ASSAY_ASSIGN(const bool right, has_right_columns(connection, event));
  if (!right) {
    tell("log_records " + std::to_string(event.index),
         "its time, type or actor is not that of the record, so lists may lack it");
  }
  return {};
}

Result<bool> remake_columns(Connection& connection, const EventRow& event) {
  ASSAY_ASSIGN(const bool right, has_right_columns(connection, event));
  if (!right) {
    ASSAY_TRY(connection.query(Sql::kRecordColumnsPut)
                  .bind(event.index)
                  .bind(event.record.time)
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

Status compare_derived(Connection& connection, const Progress& progress, const Tell& tell) {
  ASSAY_TRY(compare_lists(connection, tell));
  return compare_whole_lists(connection, progress, tell);
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
  ASSAY_TRY(remake_versions());
  ASSAY_ASSIGN(const std::uint64_t counts, recount_usage(connection_, governance_));
  if (counts > 0) {
    repaired_.made["signer_usage"] = counts;
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
