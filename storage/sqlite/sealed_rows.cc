// SPDX-License-Identifier: Apache-2.0
#include "storage/sqlite/sealed_rows.h"

#include <algorithm>
#include <utility>

#include "storage/sqlite/decision_tables.h"
#include "storage/sqlite/evidence_tables.h"
#include "storage/sqlite/job_tables.h"
#include "storage/sqlite/node_tables.h"
#include "storage/sqlite/pod_tables.h"
#include "storage/sqlite/report_tables.h"
#include "storage/sqlite/statement_tables.h"

namespace assay::storage::sqlite {
namespace {

struct Table {
  const char* name;
  const char* seal;              // SQL: the name of a row's seal
  const char* number = nullptr;  // the column of which that is the number, if it is one
};

// By Sealed.
constexpr std::array<Table, kAllSealed.size()> kTables = {{
    {"statements", "printf('%x%x', length(printf('%x', log_index)), log_index)", "log_index"},
    {"decisions", "printf('%x%x', length(printf('%x', log_index)), log_index)", "log_index"},
    {"nodes", "name"},
    {"jobs", "printf('%x%x', length(printf('%x', seq)), seq)", "seq"},
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

std::unexpected<Error> odd_name() { return fail(ErrorCode::kDataLoss, "a seal has an odd name"); }

template <typename T>
Status status_of(const Result<T>& result) {
  return result ? Status() : std::unexpected(result.error());
}

template <typename Number, typename Row>
Status read_numbered(Connection& connection, const std::string& name,
                     Result<Row> (*load)(Connection&, Number)) {
  const auto number = seal_number(name);
  return number ? status_of(load(connection, static_cast<Number>(*number))) : odd_name();
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
      return read_numbered(connection, name, load_statement_at);
    case Sealed::kDecision:
      return read_numbered(connection, name, load_decision_at);
    case Sealed::kNode:
      return status_of(load_node(connection, name));
    case Sealed::kJob:
      return read_numbered(connection, name, load_job_at);
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
  }
  return fail(ErrorCode::kDataLoss, "a seal is of an unknown kind");
}

Result<std::vector<std::string>> sealed_names(Connection& connection, Sealed kind) {
  const std::string rows = std::string("SELECT ") + table(kind).seal + " FROM " + table(kind).name;
  ASSAY_ASSIGN(std::vector<std::string> names, connection.texts(rows.c_str()));
  const std::string seals =
      "SELECT name FROM seals WHERE kind = " + std::to_string(std::to_underlying(kind));
  ASSAY_ASSIGN(const std::vector<std::string> sealed, connection.texts(seals.c_str()));
  names.insert(names.end(), sealed.begin(), sealed.end());
  std::ranges::sort(names);
  const auto [end, last] = std::ranges::unique(names);
  names.erase(end, last);
  return names;
}

Status drop_sealed(Connection& connection, Sealed kind, const std::string& name) {
  // By its key where the name says it: to compare the names of all rows takes too long for many.
  const auto number = table(kind).number != nullptr ? seal_number(name) : std::nullopt;
  const std::string which =
      number ? table(kind).number + (" = " + std::to_string(static_cast<std::int64_t>(*number)))
             : table(kind).seal + (" = " + literal(name));
  const std::string row = std::string("DELETE FROM ") + table(kind).name + " WHERE " + which;
  ASSAY_TRY(connection.execute(row.c_str()));
  const std::string seal =
      "DELETE FROM seals WHERE kind = " + std::to_string(std::to_underlying(kind)) +
      " AND name = " + literal(name);
  return connection.execute(seal.c_str());
}

}  // namespace assay::storage::sqlite
