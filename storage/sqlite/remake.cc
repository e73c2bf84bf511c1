// SPDX-License-Identifier: Apache-2.0
#include "storage/sqlite/remake.h"

#include <array>
#include <map>
#include <set>

#include "storage/sqlite/evidence_tables.h"
#include "storage/sqlite/marks.h"
#include "storage/sqlite/report_tables.h"
#include "storage/sqlite/sealed_rows.h"
#include "storage/sqlite/seals.h"

namespace assay::storage::sqlite {
namespace {

// Made again from the log by the caller.
constexpr std::array kFromTheLog = {Sealed::kNode, Sealed::kJob, Sealed::kNodeKey,
                                    Sealed::kOutline};
// The same, with lists beside them.
struct ListOf {
  Sealed kind;
  Sql drop;
};
constexpr std::array kLists = {ListOf{Sealed::kStatement, Sql::kStatementSubjectsDelete},
                               ListOf{Sealed::kStatement, Sql::kStatementInputsDelete},
                               ListOf{Sealed::kStatement, Sql::kStatementLocationsDelete},
                               ListOf{Sealed::kStatement, Sql::kStatementSignersDelete},
                               ListOf{Sealed::kStatement, Sql::kStatementEnvelopesDelete},
                               ListOf{Sealed::kDecision, Sql::kDecisionSubjectsDelete},
                               ListOf{Sealed::kDecision, Sql::kDecisionReasonsDelete}};
// Lost: whoever misses such a row is refused, and asks or says it again.
constexpr std::array kLost = {Sealed::kChallenge, Sealed::kPod, Sealed::kClaim, Sealed::kHighWater,
                              Sealed::kEvidence};

constexpr std::array kPlaces = {Sealed::kNewestReport, Sealed::kReportGroup};

// Whether the row is as this service wrote it; an error only when that cannot be told.
Result<bool> is_whole(Connection& connection, Sealed kind, const std::string& name) {
  const Status read = read_sealed(connection, kind, name);
  if (!read && read.error().code == ErrorCode::kStorage) {
    return std::unexpected(read.error());
  }
  return read.has_value();
}

Result<std::vector<std::string>> damaged_names(Connection& connection, Sealed kind) {
  ASSAY_ASSIGN(std::vector<std::string> names, sealed_names(connection, kind));
  std::vector<std::string> damaged;
  for (std::string& name : names) {
    ASSAY_ASSIGN(const bool whole, is_whole(connection, kind, name));
    if (!whole) {
      damaged.push_back(std::move(name));
    }
  }
  return damaged;
}

Result<std::uint64_t> drop_damaged_of(Connection& connection, Sealed kind) {
  ASSAY_ASSIGN(const std::vector<std::string> damaged, damaged_names(connection, kind));
  for (const std::string& name : damaged) {
    ASSAY_TRY(drop_sealed(connection, kind, name));
  }
  return damaged.size();
}

// A row that a damaged page gave another log index would stand in the way of the one that is made.
Status drop_damaged_with_lists(Connection& connection, Sealed kind) {
  ASSAY_ASSIGN(const std::vector<std::string> damaged, damaged_names(connection, kind));
  for (const std::string& name : damaged) {
    const auto index = seal_number(name);
    for (const ListOf& list : kLists) {
      if (list.kind == kind && index) {
        ASSAY_TRY(connection.query(list.drop).bind(static_cast<std::int64_t>(*index)).run());
      }
    }
    ASSAY_TRY(drop_sealed(connection, kind, name));
  }
  return {};
}

Status remake_generation(Connection& connection, Repaired& repaired) {
  ASSAY_ASSIGN(const bool whole, is_whole(connection, Sealed::kGeneration, {}));
  if (whole) {
    return {};
  }
  ++repaired.made[table_of(Sealed::kGeneration)];
  // Newer than all evidence: that is appraised again.
  ASSAY_TRY(
      connection.execute("DELETE FROM evidence_generation;"
                         "INSERT INTO evidence_generation (only, value) "
                         "SELECT 1, coalesce(max(seen), 0) + 1 FROM evidence"));
  return seal_generation(connection);
}

// Names of rows that do not fit their seals, are missing, or differ from the jobs; by table.
Result<std::map<std::string, std::set<std::string>>> wrong_places(Connection& connection) {
  std::map<std::string, std::set<std::string>> wrong;
  for (const Sealed kind : kPlaces) {
    ASSAY_ASSIGN(const auto damaged, damaged_names(connection, kind));
    wrong[table_of(kind)].insert(damaged.begin(), damaged.end());
  }
  ASSAY_TRY(compare_places(connection, [&](const PlaceDifference& difference) {
    wrong[difference.table].insert(difference.name);
  }));
  return wrong;
}

}  // namespace

Status Remaker::drop_damaged() {
  ASSAY_ASSIGN(const auto wrong, wrong_places(connection_));
  for (const auto& [table, names] : wrong) {
    if (!names.empty()) {
      repaired_.made[table] = names.size();
    }
  }
  ASSAY_TRY(connection_.execute(
      "DELETE FROM newest_reports; DELETE FROM report_groups; DELETE FROM log_subjects"));
  for (const Sealed kind : kFromTheLog) {
    ASSAY_TRY(drop_damaged_of(connection_, kind));
  }
  for (const Sealed kind : {Sealed::kStatement, Sealed::kDecision}) {
    ASSAY_TRY(drop_damaged_with_lists(connection_, kind));
  }
  for (const Sealed kind : kLost) {
    ASSAY_ASSIGN(const std::uint64_t dropped, drop_damaged_of(connection_, kind));
    if (dropped > 0) {
      repaired_.dropped[table_of(kind)] = dropped;
    }
  }
  return remake_generation(connection_, repaired_);
}

Status Remaker::finish() {
  ASSAY_ASSIGN(const std::uint64_t marks, remake_marks(connection_));
  if (marks > 0) {
    repaired_.made[table_of(Sealed::kHighWater)] = marks;
  }
  return remake_places(connection_);
}

}  // namespace assay::storage::sqlite
