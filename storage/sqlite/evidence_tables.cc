// SPDX-License-Identifier: Apache-2.0
#include "storage/sqlite/evidence_tables.h"

#include "schemas/core/sha.h"
#include "storage/sqlite/columns.h"
#include "storage/sqlite/documents.h"
#include "storage/sqlite/versions.h"

namespace assay::storage::sqlite {
namespace {

constexpr std::size_t kReportDataBytes = 64;
constexpr std::size_t kMaxLimit = 1000;

Result<Appraisal> appraisal_from(const Query& query) {
  ASSAY_ASSIGN(const Json body, json_column(query, 0));
  auto appraisal = appraisal_from_json(body);
  if (!appraisal) {
    return fail(ErrorCode::kDataLoss, "a stored appraisal cannot be read");
  }
  return appraisal;
}

Result<Registration> registration_from(const Query& query) {
  ASSAY_ASSIGN(const Json body, json_column(query, 0));
  auto registration = registration_from_json(body);
  if (!registration) {
    return fail(ErrorCode::kDataLoss, "a stored registration cannot be read");
  }
  return registration;
}

Result<EvidenceRow> evidence_from(const Query& query) {
  ASSAY_ASSIGN(Digest evidence, query.digest(3));
  ASSAY_ASSIGN(Digest policy, query.digest(6));
  ASSAY_ASSIGN(Digest appraisal, query.digest(8));
  ASSAY_ASSIGN(Json marks, json_column(query, 13));
  std::optional<Digest> anchor;
  if (!query.is_null(11)) {
    ASSAY_ASSIGN(anchor, query.digest(11));
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
                     .marks = std::move(marks)};
}

}  // namespace

Result<std::uint64_t> generation(Connection& connection) {
  Query query = connection.query(Sql::kGenerationGet);
  ASSAY_ASSIGN(const bool found, query.next());
  if (!found) {
    return fail(ErrorCode::kDataLoss, "the generation of evidence is gone");
  }
  return query.count(0);
}

Result<Appraisal> load_appraisal(Connection& connection, const std::string& evidence_type) {
  Query query = connection.query(Sql::kAppraisalGet);
  ASSAY_ASSIGN(const bool found, query.bind(evidence_type).next());
  if (!found) {
    return fail(ErrorCode::kNotFound, "no appraisal is stored for this type of evidence",
                evidence_type);
  }
  return appraisal_from(query);
}

Result<std::vector<Appraisal>> load_appraisals(Connection& connection) {
  std::vector<Appraisal> appraisals;
  Query query = connection.query(Sql::kAppraisalList);
  while (true) {
    ASSAY_ASSIGN(const bool row, query.next());
    if (!row) {
      return appraisals;
    }
    ASSAY_ASSIGN(Appraisal appraisal, appraisal_from(query));
    appraisals.push_back(std::move(appraisal));
  }
}

Result<DocumentId> load_appraisal_id(Connection& connection, const std::string& evidence_type) {
  Query query = connection.query(Sql::kAppraisalGet);
  ASSAY_ASSIGN(const bool found, query.bind(evidence_type).next());
  if (!found) {
    return fail(ErrorCode::kNotFound, "no appraisal is stored for this type of evidence",
                evidence_type);
  }
  return DocumentId(sha256(as_bytes(query.text(0))));
}

Status put_appraisal(Connection& connection, const Appraisal& appraisal) {
  ASSAY_ASSIGN(const std::string body, canonical_json(to_json(appraisal)));
  ASSAY_TRY(connection.query(Sql::kAppraisalPut).bind(appraisal.evidence_type).bind(body).run());
  return connection.query(Sql::kGenerationRaise).run();
}

Result<std::uint64_t> load_high_water(Connection& connection, const std::string& name) {
  Query query = connection.query(Sql::kHighWaterGet);
  ASSAY_ASSIGN(const bool found, query.bind(name).next());
  return found ? query.count(0) : 0;
}

Result<DocumentId> load_high_water_collateral(Connection& connection, const std::string& name) {
  Query query = connection.query(Sql::kHighWaterCollateral);
  ASSAY_ASSIGN(const bool found, query.bind(name).next());
  if (!found || query.is_null(0)) {
    return fail(ErrorCode::kNotFound, "no collateral is stored for this mark", name);
  }
  ASSAY_ASSIGN(Digest digest, query.digest(0));
  return DocumentId(std::move(digest));
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
  return value > before ? connection.query(Sql::kGenerationRaise).run() : Status();
}

Result<EvidenceRow> load_evidence(Connection& connection, const std::string& subject) {
  Query query = connection.query(Sql::kEvidenceGet);
  ASSAY_ASSIGN(const bool found, query.bind(subject).next());
  if (!found) {
    return fail(ErrorCode::kNotFound, "nothing stands on evidence under this name", subject);
  }
  return evidence_from(query);
}

Result<std::vector<EvidenceRow>> load_stale_evidence(Connection& connection, std::size_t limit) {
  if (limit < 1 || limit > kMaxLimit) {
    return fail(ErrorCode::kInvalidParameter, "the limit is 1 to 1000");
  }
  ASSAY_ASSIGN(const std::uint64_t now, generation(connection));
  std::vector<EvidenceRow> rows;
  Query query = connection.query(Sql::kEvidenceStale);
  query.bind(now).bind(limit);
  while (true) {
    ASSAY_ASSIGN(const bool found, query.next());
    if (!found) {
      return rows;
    }
    ASSAY_ASSIGN(EvidenceRow row, evidence_from(query));
    rows.push_back(std::move(row));
  }
}

Status put_evidence(Connection& connection, const EvidenceRow& row) {
  if (row.expected.size() != kReportDataBytes) {
    return fail(ErrorCode::kInvalidParameter, "report data has 64 bytes");
  }
  ASSAY_TRY(require_documents(connection, {row.evidence, row.appraisal}));
  ASSAY_ASSIGN(const std::string marks, canonical_json(row.marks));
  ASSAY_ASSIGN(const std::uint64_t now, generation(connection));
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
  bind_optional(query, row.anchor).bind(row.anchor_is_vendor ? 1 : 0).bind(marks).bind(now);
  ASSAY_TRY(query.run());
  return raise_version(connection, Versioned::kNode, row.node);
}

// Nothing that counts stands on it any more: no version rises.
Status forget_evidence(Connection& connection, const std::string& subject) {
  return connection.query(Sql::kEvidenceForget).bind(subject).run();
}

Result<Registration> load_registration_of(Connection& connection, const std::string& node) {
  {
    Query own = connection.query(Sql::kRegistrationByNode);
    ASSAY_ASSIGN(const bool found, own.bind(node).next());
    if (found && !is_pattern(node)) {
      return registration_from(own);
    }
  }
  Query patterns = connection.query(Sql::kRegistrationPatterns);
  while (true) {
    ASSAY_ASSIGN(const bool found, patterns.next());
    if (!found) {
      return fail(ErrorCode::kNotFound, "no registration covers this name", node);
    }
    ASSAY_ASSIGN(Registration registration, registration_from(patterns));
    if (covers(registration.node, node)) {
      return registration;
    }
  }
}

Result<std::vector<Registration>> load_registrations(Connection& connection) {
  std::vector<Registration> registrations;
  Query query = connection.query(Sql::kRegistrationList);
  while (true) {
    ASSAY_ASSIGN(const bool found, query.next());
    if (!found) {
      return registrations;
    }
    ASSAY_ASSIGN(Registration registration, registration_from(query));
    registrations.push_back(std::move(registration));
  }
}

Status put_registration(Connection& connection, const Registration& registration) {
  {
    Query owner = connection.query(Sql::kRegistrationOwner);
    ASSAY_ASSIGN(const bool found, owner.bind(registration.node).next());
    if (found && owner.text(0) != registration.id) {
      return fail(ErrorCode::kConflict, "another registration has this name", registration.node);
    }
  }
  ASSAY_ASSIGN(const std::string body, canonical_json(to_json(registration)));
  return connection.query(Sql::kRegistrationPut)
      .bind(registration.id)
      .bind(registration.node)
      .bind(is_pattern(registration.node) ? 1 : 0)
      .bind(body)
      .run();
}

Status remove_registration(Connection& connection, const std::string& id) {
  {
    Query query = connection.query(Sql::kRegistrationExists);
    ASSAY_ASSIGN(const bool found, query.bind(id).next());
    if (!found) {
      return fail(ErrorCode::kNotFound, "there is no registration of this name", id);
    }
  }
  return connection.query(Sql::kRegistrationDelete).bind(id).run();
}

}  // namespace assay::storage::sqlite
