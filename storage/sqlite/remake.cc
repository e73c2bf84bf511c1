// SPDX-License-Identifier: Apache-2.0
#include "storage/sqlite/remake.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "storage/sqlite/decision_tables.h"
#include "storage/sqlite/evidence_tables.h"
#include "storage/sqlite/marks.h"
#include "storage/sqlite/report_tables.h"
#include "storage/sqlite/sealed_rows.h"
#include "storage/sqlite/seals.h"
#include "storage/sqlite/statement_tables.h"

namespace assay::storage::sqlite {
namespace {

// Made again from the log by the caller.
constexpr std::array kFromTheLog = {Sealed::kNode, Sealed::kJob, Sealed::kNodeKey,
                                    Sealed::kOutline};
// The same, at a log index and with lists beside them.
struct Listed {
  const char* table;
  Status (*read)(Connection& connection, LeafIndex index);
  std::initializer_list<Sql> drop;
};

template <typename Row, Result<Row> (*kLoad)(Connection&, LeafIndex)>
Status read_at(Connection& connection, LeafIndex index) {
  const auto row = kLoad(connection, index);
  return row ? Status() : std::unexpected(row.error());
}

constexpr std::initializer_list<Sql> kPartsOfStatement = {
    Sql::kStatementSubjectsDelete, Sql::kStatementInputsDelete,    Sql::kStatementLocationsDelete,
    Sql::kStatementSignersDelete,  Sql::kStatementEnvelopesDelete, Sql::kStatementDelete};
constexpr std::initializer_list<Sql> kPartsOfDecision = {
    Sql::kDecisionSubjectsDelete, Sql::kDecisionReasonsDelete, Sql::kDecisionDelete};

const std::array kListed = {
    Listed{"statements", read_at<StatementRow, load_statement_at>, kPartsOfStatement},
    Listed{"decisions", read_at<DecisionRow, load_decision_at>, kPartsOfDecision}};

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

// The names of the rows that are whole, or of the others.
Result<std::set<std::string>> names_of(Connection& connection, Sealed kind, bool whole) {
  ASSAY_ASSIGN(const auto all, sealed_names(connection, kind));
  std::set<std::string> names;
  for (const std::string& name : all) {
    ASSAY_ASSIGN(const bool is, is_whole(connection, kind, name));
    if (is == whole) {
      names.insert(name);
    }
  }
  return names;
}

Result<std::uint64_t> drop_damaged_of(Connection& connection, Sealed kind) {
  ASSAY_ASSIGN(const auto damaged, names_of(connection, kind, false));
  for (const std::string& name : damaged) {
    ASSAY_TRY(drop_sealed(connection, kind, name));
  }
  return damaged.size();
}

// A row that a damaged page gave another log index would stand in the way of the one that is made.
Status drop_damaged_of(Connection& connection, const Listed& listed) {
  const std::string indexes = std::string("SELECT log_index FROM ") + listed.table;
  ASSAY_ASSIGN(const auto texts, connection.texts(indexes.c_str()));
  for (const std::string& text : texts) {
    const std::int64_t index = std::strtoll(text.c_str(), nullptr, 10);
    const Status read = listed.read(connection, static_cast<LeafIndex>(index));
    if (read) {
      continue;
    }
    if (read.error().code == ErrorCode::kStorage) {
      return read;
    }
    for (const Sql drop : listed.drop) {
      ASSAY_TRY(connection.query(drop).bind(index).run());
    }
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

}  // namespace

Status Remaker::drop_damaged() {
  for (const Sealed kind : kPlaces) {
    ASSAY_ASSIGN(places_[kind], names_of(connection_, kind, true));
  }
  ASSAY_TRY(connection_.execute(
      "DELETE FROM newest_reports; DELETE FROM report_groups; DELETE FROM log_subjects"));
  for (const Sealed kind : kFromTheLog) {
    ASSAY_TRY(drop_damaged_of(connection_, kind));
  }
  for (const Listed& listed : kListed) {
    ASSAY_TRY(drop_damaged_of(connection_, listed));
  }
  for (const Sealed kind : kLost) {
    ASSAY_ASSIGN(const std::uint64_t dropped, drop_damaged_of(connection_, kind));
    if (dropped > 0) {
      repaired_.dropped[table_of(kind)] = dropped;
    }
  }
  ASSAY_TRY(remake_generation(connection_, repaired_));
  return collect_map(connection_);  // nothing is missing any more: it is made again
}

Status Remaker::finish() {
  ASSAY_ASSIGN(const std::uint64_t marks, remake_marks(connection_));
  if (marks > 0) {
    repaired_.made[table_of(Sealed::kHighWater)] = marks;
  }
  ASSAY_TRY(remake_places(connection_));
  for (const auto& [kind, before] : places_) {
    ASSAY_ASSIGN(const auto names, sealed_names(connection_, kind));
    const auto made = std::ranges::count_if(
        names, [&before](const std::string& name) { return !before.contains(name); });
    if (made > 0) {
      repaired_.made[table_of(kind)] = static_cast<std::uint64_t>(made);
    }
  }
  return {};
}

}  // namespace assay::storage::sqlite
