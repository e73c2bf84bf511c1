// SPDX-License-Identifier: Apache-2.0
#include "storage/sqlite/sealed_rows.h"

#include <algorithm>
#include <utility>

#include "storage/sqlite/derived.h"
#include "storage/sqlite/evidence_tables.h"
#include "storage/sqlite/job_tables.h"
#include "storage/sqlite/node_tables.h"
#include "storage/sqlite/pod_tables.h"
#include "storage/sqlite/report_tables.h"
#include "storage/sqlite/sealed_lists.h"
#include "storage/sqlite/statement_tables.h"

namespace assay::storage::sqlite {
namespace {

struct Table {
  const char* name;
  const char* seal;  // SQL: the name of a row's seal
};

// By Sealed.
constexpr std::array<Table, kSealedTables.size()> kTables = {{
    {"statements", "'sha256:' || lower(hex(id))"},
    {"nodes", "name"},
    {"jobs", "id"},
    {"challenges", "lower(hex(nonce))"},
    {"outlines", "artifact"},
    {"pods", "cluster || char(31) || uid"},
    {"claims", "cluster || char(31) || name_space || char(31) || name"},
    {"high_waters", "name"},
    {"evidence", "subject"},
    {"node_keys", "'sha256:' || lower(hex(key))"},
    {"evidence_generation", "''"},
    {"newest_reports", "place"},
    {"report_groups", "name"},
}};

const Table& table(Sealed kind) {
  return kTables.at(static_cast<std::size_t>(std::to_underlying(kind)) - 1);
}

std::unexpected<Error> odd_name() { return fail(ErrorCode::kDataLoss, "a row has an odd name"); }

template <typename T>
Status status_of(const Result<T>& result) {
  return result ? Status() : std::unexpected(result.error());
}

Status read_statement(Connection& connection, const std::string& name) {
  ASSAY_ASSIGN(const StatementId id, StatementId::parse(name));
  return status_of(load_statement(connection, id));
}

Status read_pod(Connection& connection, const std::vector<std::string>& columns) {
  return columns.size() == 2 ? status_of(load_pod(connection, columns[0], columns[1])) : odd_name();
}

Status read_claim(Connection& connection, const std::vector<std::string>& columns) {
  return columns.size() == 3 ? status_of(load_claim(connection, columns[0], columns[1], columns[2]))
                             : odd_name();
}

Status read_key(Connection& connection, const std::string& name) {
  ASSAY_ASSIGN(const KeyId key, KeyId::parse(name));
  return status_of(load_key_owner(connection, key));
}

Status read_challenge(Connection& connection, const std::string& name) {
  ASSAY_ASSIGN(const Bytes nonce, hex_decode(name));
  return status_of(load_challenge(connection, nonce));
}

Status read_outline(Connection& connection, const std::string& name) {
  ASSAY_ASSIGN(const ArtifactId artifact, ArtifactId::parse(name));
  return status_of(load_outline(connection, artifact));
}

// A text of SQL, whatever characters it has.
std::string literal(const std::string& text) {
  return "CAST(x'" + hex_encode(as_bytes(text)) + "' AS TEXT)";
}

}  // namespace

std::vector<std::string> seal_columns(const std::string& name) {
  std::vector<std::string> columns(1);
  for (const char c : name) {
    if (c == '\x1f') {
      columns.emplace_back();
    } else {
      columns.back() += c;
    }
  }
  return columns;
}

const char* table_of(Sealed kind) { return table(kind).name; }

Status read_sealed(Connection& connection, Sealed kind, const std::string& name) {
  switch (kind) {
    case Sealed::kStatement:
      return read_statement(connection, name);
    case Sealed::kNode:
      return status_of(load_node(connection, name));
    case Sealed::kJob:
      return status_of(load_job(connection, name));
    case Sealed::kChallenge:
      return read_challenge(connection, name);
    case Sealed::kOutline:
      return read_outline(connection, name);
    case Sealed::kPod:
      return read_pod(connection, seal_columns(name));
    case Sealed::kClaim:
      return read_claim(connection, seal_columns(name));
    case Sealed::kHighWater:
      return check_mark(connection, name);
    case Sealed::kEvidence:
      return status_of(load_evidence(connection, name));
    case Sealed::kNodeKey:
      return read_key(connection, name);
    case Sealed::kGeneration:
      return status_of(generation(connection));
    case Sealed::kNewestReport: {
      ASSAY_ASSIGN(const auto row, load_place(connection, name));
      return row ? Status() : fail(ErrorCode::kNotFound, "there is no such place", name);
    }
    case Sealed::kReportGroup: {
      ASSAY_ASSIGN(const std::uint64_t places, load_group(connection, name));
      return places > 0 ? Status() : fail(ErrorCode::kNotFound, "there are no such places", name);
    }
    default:
      return fail(ErrorCode::kInternal, "the kind has no table");
  }
}

Result<std::vector<std::string>> sealed_names(Connection& connection, Sealed kind) {
  const std::string rows = std::string("SELECT ") + table(kind).seal + " FROM " + table(kind).name;
  return connection.texts(rows.c_str());
}

Status drop_sealed(Connection& connection, Sealed kind, const std::string& name) {
  const std::string row = std::string("DELETE FROM ") + table(kind).name + " WHERE " +
                          table(kind).seal + " = " + literal(name);
  ASSAY_TRY(connection.execute(row.c_str()));
  return erase_seal(connection, kind, name);
}

Result<EntryCounts> count_entries(Connection& connection) {
  EntryCounts counts{};
  Query query = connection.query(Sql::kMapScan);
  while (true) {
    ASSAY_ASSIGN(const bool found, query.next());
    if (!found) {
      return counts;
    }
    const auto bucket =
        MapBucket::decode(static_cast<BucketNumber>(query.integer(0)), query.view(1));
    for (const MapEntry& entry : bucket ? bucket->entries() : std::vector<MapEntry>{}) {
      ++counts.at(entry.name.back());
    }
  }
}

namespace {

Status collect_rows(Connection& connection) {
  for (const Sealed kind : kSealedTables) {
    ASSAY_ASSIGN(const auto names, sealed_names(connection, kind));
    for (const std::string& name : names) {
      ASSAY_TRY(read_sealed(connection, kind, name));
    }
  }
  return check_counters(connection, [](const std::string&, const std::string&) {});
}

Status collect_lists(Connection& connection) {
  ASSAY_ASSIGN(const auto statements, sealed_names(connection, Sealed::kStatement));
  for (const std::string& name : statements) {
    ASSAY_ASSIGN(const StatementId id, StatementId::parse(name));
    ASSAY_ASSIGN(const StatementRow row, load_statement(connection, id));
    ASSAY_TRY(check_lists(connection, row));
  }
  ASSAY_TRY(collect_platforms(connection));
  return collect_evidence_counts(connection);
}

}  // namespace

Status collect_map(Connection& connection) {
  ASSAY_TRY(connection.execute("DELETE FROM record_map"));
  connection.map().collect();
  Status status = collect_rows(connection);
  if (status) {
    status = collect_lists(connection);
  }
  connection.map().collected();
  return status;
}

}  // namespace assay::storage::sqlite
