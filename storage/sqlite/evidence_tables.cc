// SPDX-License-Identifier: Apache-2.0
#include "storage/sqlite/evidence_tables.h"

#include <algorithm>
#include <map>

#include "storage/sqlite/columns.h"
#include "storage/sqlite/documents.h"
#include "storage/sqlite/seals.h"
#include "storage/sqlite/statement_tables.h"
#include "storage/sqlite/versions.h"

namespace assay::storage::sqlite {
namespace {

constexpr std::size_t kReportDataBytes = 64;
constexpr std::size_t kMaxLimit = 1000;
constexpr std::string_view kStatementPrefix = "statement:";

Result<std::optional<MeasuredBoot>> boot_from(const Query& query) {
  if (query.is_null(17)) {
    return std::nullopt;
  }
  ASSAY_ASSIGN(const Json json, json_column(query, 17));
  auto boot = measured_boot_from_json(json);
  if (!boot) {
    return fail(ErrorCode::kDataLoss, "what a stored event log says cannot be read");
  }
  return *std::move(boot);
}

Result<EvidenceRow> evidence_from(Connection& connection, const Query& query) {
  ASSAY_TRY(check_seal(connection, Sealed::kEvidence, query.text(0), query));
  ASSAY_ASSIGN(Digest evidence, query.digest(3));
  ASSAY_ASSIGN(Digest policy, query.digest(6));
  ASSAY_ASSIGN(Digest appraisal, query.digest(8));
  ASSAY_ASSIGN(Json marks, json_column(query, 13));
  ASSAY_ASSIGN(Json stage, json_column(query, 15));
  ASSAY_ASSIGN(Json matched, json_column(query, 16));
  ASSAY_ASSIGN(Json device, json_column(query, 20));
  ASSAY_ASSIGN(auto boot, boot_from(query));
  std::optional<Anchor> anchor;
  if (!query.is_null(11)) {
    ASSAY_ASSIGN(anchor, Anchor::from_stored(query.view(11)));
  }
  return EvidenceRow{.subject = query.text(0),
                     .node = query.text(1),
                     .type = query.text(2),
                     .evidence = DocumentId(std::move(evidence)),
                     .expected = query.bytes(4),
                     .platform = query.text(5),
                     .policy = DocumentId(std::move(policy)),
                     .error = query.text(7),
                     .appraisal = DocumentId(std::move(appraisal)),
                     .appraised_at = query.time(9),
                     .tcb_status = query.text(10),
                     .anchor = std::move(anchor),
                     .anchor_is_vendor = query.integer(12) != 0,
                     .marks = std::move(marks),
                     .stage = std::move(stage),
                     .matched = std::move(matched),
                     .boot = std::move(boot),
                     .valid_until = optional_time(query, 18),
                     .look_at = optional_time(query, 19),
                     .device = std::move(device)};
}

Result<std::vector<EvidenceRow>> evidence_rows(Connection& connection, Query& query) {
  std::vector<EvidenceRow> rows;
  while (true) {
    ASSAY_ASSIGN(const bool found, query.next());
    if (!found) {
      return rows;
    }
    ASSAY_ASSIGN(EvidenceRow row, evidence_from(connection, query));
    rows.push_back(std::move(row));
  }
}

// "statement:ID" of the subject of its evidence, and nullopt for a subject of another kind.
std::optional<std::string> evidence_list(const std::string& subject) {
  return subject.starts_with(kStatementPrefix) ? std::optional(subject.substr(0, subject.find('/')))
                                               : std::nullopt;
}

// Counts a row of evidence for a statement that is not there yet.
Status count_stage_evidence(Connection& connection, const EvidenceRow& row) {
  const auto list = evidence_list(row.subject);
  if (!list) {
    return {};
  }
  const auto before = load_evidence(connection, row.subject);
  if (before || before.error().code != ErrorCode::kNotFound) {
    return before ? Status() : std::unexpected(before.error());
  }
  ASSAY_ASSIGN(const std::uint64_t known, load_count(connection, Sealed::kStageEvidence, *list));
  return store_count(connection, Sealed::kStageEvidence, *list, known + 1);
}

Status check_limit(std::size_t limit) {
  return limit >= 1 && limit <= kMaxLimit
             ? Status()
             : fail(ErrorCode::kInvalidParameter, "the limit is 1 to 1000");
}

// Decisions about everything that the statement is about depend on its evidence.
Status raise_subjects(Connection& connection, const std::string& subject) {
  const std::size_t end = std::min(subject.find('/'), subject.size());
  const auto id = StatementId::parse(
      subject.starts_with(kStatementPrefix)
          ? std::string_view(subject).substr(0, end).substr(kStatementPrefix.size())
          : std::string_view());
  if (!id) {
    return fail(ErrorCode::kInvalidParameter, "the evidence names no statement", subject);
  }
  ASSAY_ASSIGN(const StatementRow statement, load_statement(connection, *id));
  return note_change(connection, statement);
}

}  // namespace

Status raise_generation(Connection& connection) {
  ASSAY_TRY(generation(connection));
  ASSAY_TRY(connection.query(Sql::kGenerationRaise).run());
  return seal_generation(connection);
}

Status seal_generation(Connection& connection) {
  Query query = connection.query(Sql::kGenerationGet);
  return keep_seal(connection, Sealed::kGeneration, {}, query);
}

Result<std::uint64_t> generation(Connection& connection) {
  Query query = connection.query(Sql::kGenerationGet);
  ASSAY_ASSIGN(const bool found, query.next());
  if (!found) {
    return fail(ErrorCode::kDataLoss, "the generation of evidence is gone");
  }
  ASSAY_TRY(check_seal(connection, Sealed::kGeneration, {}, query));
  return query.count(0);
}

Result<std::uint64_t> load_high_water(Connection& connection, const std::string& name) {
  Query query = connection.query(Sql::kHighWaterGet);
  ASSAY_ASSIGN(const bool found, query.bind(name).next());
  if (!found) {
    ASSAY_TRY(check_absent(connection, Sealed::kHighWater, name));
    return 0;
  }
  ASSAY_TRY(check_seal(connection, Sealed::kHighWater, name, query));
  return query.count(0);
}

Result<DocumentId> load_high_water_collateral(Connection& connection, const std::string& name) {
  Query query = connection.query(Sql::kHighWaterGet);
  ASSAY_ASSIGN(const bool found, query.bind(name).next());
  ASSAY_TRY(found ? check_seal(connection, Sealed::kHighWater, name, query)
                  : check_absent(connection, Sealed::kHighWater, name));
  if (!found || query.is_null(1)) {
    return fail(ErrorCode::kNotFound, "no collateral is stored for this mark", name);
  }
  ASSAY_ASSIGN(Digest digest, query.digest(1));
  return DocumentId(std::move(digest));
}

Status check_mark(Connection& connection, const std::string& name) {
  Query query = connection.query(Sql::kHighWaterGet);
  ASSAY_ASSIGN(const bool found, query.bind(name).next());
  return found ? check_seal(connection, Sealed::kHighWater, name, query)
               : fail(ErrorCode::kNotFound, "there is no such mark", name);
}

Result<std::vector<std::string>> load_high_waters(Connection& connection, const std::string& after,
                                                  std::size_t limit) {
  ASSAY_TRY(check_limit(limit));
  std::vector<std::string> names;
  Query query = connection.query(Sql::kHighWaterList);
  query.bind(after).bind(limit);
  while (true) {
    ASSAY_ASSIGN(const bool found, query.next());
    if (!found) {
      return names;
    }
    names.push_back(query.text(0));
    ASSAY_TRY(check_mark(connection, names.back()));
  }
}

Status raise_high_water(Connection& connection, const std::string& name, std::uint64_t value,
                        const std::optional<DocumentId>& collateral) {
  if (collateral) {
    ASSAY_TRY(require_documents(connection, {*collateral}));
  }
  ASSAY_ASSIGN(const std::uint64_t before, load_high_water(connection, name));
  Query query = connection.query(Sql::kHighWaterRaise);
  query.bind(name).bind(value);
  if (collateral) {
    query.bind(*collateral);
  } else {
    query.bind_null();
  }
  ASSAY_TRY(query.run());
  {
    Query again = connection.query(Sql::kHighWaterGet);
    ASSAY_TRY(keep_seal(connection, Sealed::kHighWater, name, again.bind(name)));
  }
  return value > before ? raise_generation(connection) : Status();
}

Result<EvidenceRow> load_evidence(Connection& connection, const std::string& subject) {
  Query query = connection.query(Sql::kEvidenceGet);
  ASSAY_ASSIGN(const bool found, query.bind(subject).next());
  if (!found) {
    ASSAY_TRY(check_absent(connection, Sealed::kEvidence, subject));
    return fail(ErrorCode::kNotFound, "nothing stands on evidence under this name", subject);
  }
  return evidence_from(connection, query);
}

Result<std::vector<EvidenceRow>> load_stale_evidence(Connection& connection, std::size_t limit) {
  ASSAY_TRY(check_limit(limit));
  ASSAY_ASSIGN(const std::uint64_t now, generation(connection));
  Query query = connection.query(Sql::kEvidenceStale);
  return evidence_rows(connection, query.bind(now).bind(limit));
}

Result<std::vector<EvidenceRow>> load_due_evidence(Connection& connection, Timestamp now,
                                                   std::size_t limit) {
  ASSAY_TRY(check_limit(limit));
  Query query = connection.query(Sql::kEvidenceDue);
  ASSAY_ASSIGN(auto rows, evidence_rows(connection, query.bind(now).bind(limit)));
  const bool all_due = std::ranges::all_of(
      rows, [now](const EvidenceRow& row) { return row.look_at && *row.look_at <= now; });
  return all_due ? Result<std::vector<EvidenceRow>>(std::move(rows))
                 : fail(ErrorCode::kDataLoss, "an index names evidence that is not due");
}

Result<std::vector<EvidenceRow>> load_stage_evidence(Connection& connection,
                                                     const StatementId& statement) {
  const std::string prefix = std::string(kStatementPrefix) + statement.text();
  Query query = connection.query(Sql::kEvidenceOfStatement);
  // '0' follows '/'
  ASSAY_ASSIGN(auto rows, evidence_rows(connection, query.bind(prefix + "/").bind(prefix + "0")));
  ASSAY_ASSIGN(const std::uint64_t known, load_count(connection, Sealed::kStageEvidence, prefix));
  return rows.size() == known
             ? Result<std::vector<EvidenceRow>>(std::move(rows))
             : fail(ErrorCode::kDataLoss, "evidence for a statement is missing", prefix);
}

Status collect_evidence_counts(Connection& connection) {
  ASSAY_ASSIGN(const auto subjects, connection.texts("SELECT subject FROM evidence"));
  std::map<std::string, std::uint64_t> counts;
  for (const std::string& subject : subjects) {
    if (const auto list = evidence_list(subject)) {
      ++counts[*list];
    }
  }
  for (const auto& [list, count] : counts) {
    ASSAY_TRY(store_count(connection, Sealed::kStageEvidence, list, count));
  }
  return {};
}

Status put_evidence(Connection& connection, const EvidenceRow& row) {
  if (row.expected.size() != kReportDataBytes) {
    return fail(ErrorCode::kInvalidParameter, "report data has 64 bytes");
  }
  ASSAY_TRY(require_documents(connection, {row.evidence, row.appraisal}));
  ASSAY_ASSIGN(const std::string marks, canonical_json(row.marks));
  ASSAY_ASSIGN(const std::string stage, canonical_json(row.stage));
  ASSAY_ASSIGN(const std::string matched, canonical_json(row.matched));
  ASSAY_ASSIGN(const std::string device, canonical_json(row.device));
  std::optional<std::string> boot;
  if (row.boot) {
    ASSAY_ASSIGN(boot, canonical_json(to_json(*row.boot)));
  }
  ASSAY_ASSIGN(const std::uint64_t now, generation(connection));
  ASSAY_TRY(count_stage_evidence(connection, row));
  Query query = connection.query(Sql::kEvidencePut);
  query.bind(row.subject)
      .bind(row.node)
      .bind(row.type)
      .bind(row.evidence)
      .bind(row.expected)
      .bind(row.platform)
      .bind(row.policy)
      .bind(row.error)
      .bind(row.appraisal)
      .bind(row.appraised_at)
      .bind(row.tcb_status);
  (row.anchor ? query.bind(ByteView(row.anchor->stored())) : query.bind_null())
      .bind(row.anchor_is_vendor ? 1 : 0)
      .bind(marks)
      .bind(now)
      .bind(stage)
      .bind(matched);
  bind_optional(query, boot);
  bind_optional(query, row.valid_until);
  bind_optional(query, row.look_at).bind(device);
  ASSAY_TRY(query.run());
  Query again = connection.query(Sql::kEvidenceGet);
  ASSAY_TRY(keep_seal(connection, Sealed::kEvidence, row.subject, again.bind(row.subject)));
  return row.stage.is_null() ? raise_version(connection, Versioned::kNode, row.node)
                             : raise_subjects(connection, row.subject);
}

// Nothing that counts stands on it any more: no version rises.
Status forget_evidence(Connection& connection, const std::string& subject) {
  bool removed = false;
  {
    Query query = connection.query(Sql::kEvidenceForget);
    ASSAY_ASSIGN(removed, query.bind(subject).next());
  }
  if (!removed) {
    return {};
  }
  ASSAY_TRY(erase_seal(connection, Sealed::kEvidence, subject));
  const auto list = evidence_list(subject);
  if (!list) {
    return {};
  }
  ASSAY_ASSIGN(const std::uint64_t known, load_count(connection, Sealed::kStageEvidence, *list));
  return store_count(connection, Sealed::kStageEvidence, *list, known - 1);
}

}  // namespace assay::storage::sqlite
