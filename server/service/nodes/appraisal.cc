// SPDX-License-Identifier: Apache-2.0
#include "server/service/nodes/appraisal.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "attestation/composite.h"
#include "attestation/ear.h"
#include "schemas/log_record.h"
#include "server/service/nodes/devices.h"
#include "server/service/nodes/node_view.h"
#include "server/service/nodes/reappraise.h"
#include "server/service/nodes/stage_evidence.h"

namespace assay::server {
namespace {

constexpr std::string_view kAppraisalMediaType = "application/vnd.assay.appraisal+json";

Json nullable(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json anchor_of(const attestation::AppraisedEvidence& evidence) {
  return evidence.anchor ? Json(evidence.anchor->text()) : Json();
}

// What an enrolment or a report stands on.
std::string evidence_subject(const Appraised& appraised, const EvidenceContext& context) {
  if (attestation::is_of_device(appraised.type)) {
    return device_subject(appraised.evidence.platform);
  }
  return context.job.empty() ? node_subject(context.node) : job_subject(context.job);
}

Result<std::string> make_document(const Appraised& appraised, const EvidenceContext& context) {
  const attestation::AppraisedEvidence& evidence = appraised.evidence;
  return canonical_json({{"v", 1},
                         {"type", appraised.type},
                         {"accepted", evidence.accepted},
                         {"error", nullable(evidence.error)},
                         {"purpose", name(context.purpose)},
                         {"node", context.node},
                         {"job", nullable(context.job)},
                         {"nonce", text(context.nonce)},
                         {"appraised_at", to_rfc3339(context.now)},
                         {"policy", appraised.policy.text()},
                         {"anchor", anchor_of(evidence)},
                         {"anchor_is_vendor", evidence.anchor_is_vendor},
                         {"result", evidence.result},
                         {"ear", nullable(appraised.ear)}});
}

Result<LeafIndex> append_record(storage::Transaction& transaction, const Appraised& appraised,
                                const EvidenceContext& context, const DocumentId& document) {
  const attestation::AppraisedEvidence& evidence = appraised.evidence;
  LogRecord record{.type = std::string(event::kEvidenceAppraised),
                   .time = transaction.now(),
                   .actor = context.actor,
                   .subjects = {node_subject(context.node)},
                   .documents = {document},
                   .detail = {{"result", evidence.accepted ? "accepted" : "rejected"},
                              {"evidence_type", appraised.type},
                              {"purpose", name(context.purpose)},
                              {"tcb_status", nullable(evidence.tcb_status)},
                              {"anchor", anchor_of(evidence)},
                              {"anchor_is_vendor", evidence.anchor_is_vendor}}};
  if (!context.job.empty()) {
    record.subjects.push_back(job_subject(context.job));
  }
  if (attestation::is_of_device(appraised.type) && !evidence.platform.empty()) {
    record.subjects.push_back(device_subject(evidence.platform));
  }
  if (!evidence.accepted) {
    record.detail["error"] = evidence.error;
  }
  return transaction.append(std::move(record));
}

// The refusal is a record; of the evidence itself nothing is kept.
Status log_refusal(Services& services, const Appraised& appraised, const EvidenceContext& context) {
  const auto done = services.store.write([&](storage::Transaction& transaction) -> Status {
    ASSAY_ASSIGN(const DocumentId document,
                 transaction.put_document(kAppraisalMediaType, as_bytes(appraised.document)));
    ASSAY_TRY(append_record(transaction, appraised, context, document));
    return {};
  });
  return done ? Status() : std::unexpected(done.error());
}

Result<std::string> ear_of(const Services& services, const Appraised& appraised,
                           const EvidenceContext& context) {
  if (services.ear_signer == nullptr || !appraised.evidence.accepted) {
    return std::string();
  }
  attestation::EarContext ear;
  ear.issuer = audience(services);
  ear.build = services.version;
  ear.nonce = text(context.nonce);
  ear.node = context.node;
  ear.policy = appraised.policy.text();
  ear.now = context.now;
  return attestation::make_ear(appraised.evidence, ear, *services.ear_signer);
}

// What evidence is held against.
struct Ground {
  Appraisal appraisal;
  DocumentId policy;
  std::uint64_t trust_epoch;
};

Result<Ground> ground_for(storage::Snapshot& snapshot, const std::string& type,
                          const std::string& stage = {}) {
  ASSAY_ASSIGN(const storage::Epochs epochs, snapshot.epochs());
  ASSAY_ASSIGN(Appraisal appraisal, appraisal_in_force(snapshot, type, stage));
  ASSAY_ASSIGN(DocumentId policy, appraisal_id_in_force(snapshot, type, stage));
  return Ground{std::move(appraisal), std::move(policy), epochs.trust.trust};
}

// Appraises one piece of what a node presents. A refusal is logged, and is an error.
Result<Appraised> appraise_piece(Services& services, storage::Snapshot& snapshot,
                                 const attestation::CompositePiece& piece,
                                 const EvidenceContext& context) {
  const Evidence& evidence = piece.evidence;
  ASSAY_ASSIGN(const Ground ground, ground_for(snapshot, evidence.type));
  Appraised appraised{{},       evidence.type,  {}, {}, ground.trust_epoch, ground.policy,
                      evidence, piece.expected, {}};
  ASSAY_ASSIGN(appraised.collateral,
               choose_collateral(services, snapshot, evidence, ground.appraisal));
  ASSAY_ASSIGN(appraised.evidence,
               appraise_chosen(services, appraised.collateral, evidence, ground.appraisal,
                               piece.purpose, piece.expected, context.now));
  count(services, NodeEvent::kEvidence, appraised.evidence.accepted ? "accepted" : "rejected");
  if (appraised.evidence.accepted) {
    return appraised;
  }
  ASSAY_ASSIGN(appraised.document, make_document(appraised, context));
  ASSAY_TRY(log_refusal(services, appraised, context));
  return std::unexpected(refusal_of(piece, appraised.evidence));
}

// Makes what is stored of evidence of a node, once all its parts are there.
Status conclude(Services& services, const EvidenceContext& context, Appraised& appraised) {
  ASSAY_ASSIGN(appraised.ear, ear_of(services, appraised, context));
  ASSAY_ASSIGN(appraised.document, make_document(appraised, context));
  return {};
}

// The statement and the artifacts that it is about.
std::vector<std::string> subjects_of(const storage::StatementRow& statement) {
  std::vector<std::string> subjects = {statement.id.text()};
  for (const std::string& subject : statement.subjects) {
    if (subject.starts_with("assay-tree-v1-")) {
      subjects.push_back(subject);
    }
  }
  return subjects;
}

Result<std::vector<std::string>> subjects_again(storage::Transaction& transaction,
                                                const storage::EvidenceRow& row) {
  if (!row.stage.is_null()) {
    ASSAY_ASSIGN(const StageRow stage, stage_row(row));
    ASSAY_ASSIGN(const storage::StatementRow statement, transaction.statement(stage.statement));
    return subjects_of(statement);
  }
  std::vector<std::string> subjects = {row.subject};
  if (row.subject != node_subject(row.node)) {
    subjects.push_back(node_subject(row.node));
  }
  return subjects;
}

// By these marks refused evidence is found stale when something moves on.
Result<Json> marks_of_refused(storage::NodeReads& reads, const Appraised& appraised) {
  Json marks = appraised.collateral.seen;
  for (const attestation::HighWater& mark : appraised.evidence.high_water) {
    ASSAY_ASSIGN(marks[mark.name], reads.high_water(mark.name));
  }
  return marks;
}

storage::EvidenceRow evidence_row(const Appraised& appraised, const EvidenceContext& context,
                                  DocumentId stored, DocumentId document, Json marks) {
  const attestation::AppraisedEvidence& evidence = appraised.evidence;
  storage::EvidenceRow row{.subject = evidence_subject(appraised, context),
                           .node = context.node,
                           .type = appraised.type,
                           .evidence = std::move(stored),
                           .expected = Bytes(appraised.expected.begin(), appraised.expected.end()),
                           .platform = evidence.platform,
                           .policy = appraised.policy,
                           .error = {},
                           .appraisal = std::move(document),
                           .appraised_at = context.now,
                           .tcb_status = evidence.tcb_status,
                           .anchor = evidence.anchor,
                           .anchor_is_vendor = evidence.anchor_is_vendor,
                           .marks = std::move(marks),
                           .matched = evidence.matched,
                           .boot = evidence.boot};
  if (evidence.device) {
    row.device = to_json(*evidence.device);
  }
  note_end(row, evidence.valid_until, context.now);
  return row;
}

}  // namespace

Result<Composite> appraise_enrolment(Services& services, storage::Snapshot& snapshot,
                                     const Enrolment& enrolment, const EvidenceContext& context) {
  std::vector<Appraised> pieces;
  const auto appraise =
      [&](const attestation::CompositePiece& piece) -> Result<attestation::AppraisedEvidence> {
    ASSAY_ASSIGN(Appraised appraised, appraise_piece(services, snapshot, piece, context));
    pieces.push_back(std::move(appraised));
    return pieces.back().evidence;
  };
  ASSAY_ASSIGN(attestation::CompositeResult joined,
               attestation::appraise_composite(enrolment, appraise));
  if (joined.refusal) {
    return std::unexpected(*std::move(joined.refusal));
  }
  pieces.front().evidence = std::move(joined.node);
  ASSAY_TRY(conclude(services, context, pieces.front()));
  for (Appraised& device : std::span(pieces).subspan(1)) {
    ASSAY_ASSIGN(device.document, make_document(device, context));
  }
  Composite composite{std::move(pieces.front()), {}};
  std::move(pieces.begin() + 1, pieces.end(), std::back_inserter(composite.devices));
  return composite;
}

Result<Appraised> appraise_evidence(Services& services, storage::Snapshot& snapshot,
                                    const Evidence& evidence, const ReportDataBytes& expected,
                                    const EvidenceContext& context) {
  // Reports stand on the same ground as the enrolment: reference values are needed for both.
  ASSAY_ASSIGN(
      Appraised appraised,
      appraise_piece(services, snapshot,
                     {evidence, expected, attestation::Purpose::kEnrol, "/evidence"}, context));
  ASSAY_TRY(conclude(services, context, appraised));
  return appraised;
}

Result<Json> advance_marks(storage::Transaction& transaction, const ChosenCollateral& chosen,
                           const attestation::AppraisedEvidence& evidence, const Bringer& bringer) {
  for (const attestation::HighWater& mark : evidence.high_water) {
    ASSAY_ASSIGN(const std::uint64_t seen, transaction.high_water(mark.name));
    if (mark.value < seen) {
      return fail(ErrorCode::kCollateralRollback, mark.name + " is at " + std::to_string(seen) +
                                                      "; the appraisal was made at " +
                                                      std::to_string(mark.value));
    }
  }
  ASSAY_ASSIGN(Json marks, advance_collateral(transaction, chosen, bringer));
  for (const attestation::HighWater& mark : evidence.high_water) {
    ASSAY_TRY(transaction.raise_high_water(mark.name, mark.value, std::nullopt));
    marks[mark.name] = mark.value;
  }
  return marks;
}

Result<DocumentId> record_appraisal(storage::Transaction& transaction, const Appraised& appraised,
                                    const EvidenceContext& context) {
  ASSAY_ASSIGN(const storage::Epochs epochs, transaction.epochs());
  if (epochs.trust.trust != appraised.trust_epoch) {
    return fail(ErrorCode::kUnavailable,
                "the trust store changed meanwhile; begin again with a new challenge");
  }
  ASSAY_ASSIGN(const StoredEvidence stored, store_evidence(transaction, appraised.presented));
  ASSAY_ASSIGN(Json marks, advance_marks(transaction, appraised.collateral, appraised.evidence,
                                         {context.actor, kWithEvidence}));
  ASSAY_ASSIGN(DocumentId document,
               transaction.put_document(kAppraisalMediaType, as_bytes(appraised.document)));
  ASSAY_TRY(append_record(transaction, appraised, context, document));
  ASSAY_TRY(transaction.put_evidence(
      evidence_row(appraised, context, stored.evidence, document, std::move(marks))));
  return document;
}

Result<DocumentId> record_again(storage::Transaction& transaction, const storage::EvidenceRow& row,
                                const DocumentId& policy,
                                const attestation::AppraisedEvidence& evidence) {
  const Json anchor = anchor_of(evidence);
  ASSAY_ASSIGN(const std::string text,
               canonical_json({{"v", 1},
                               {"type", row.type},
                               {"accepted", evidence.accepted},
                               {"error", nullable(evidence.error)},
                               {"subject", row.subject},
                               {"appraised_at", to_rfc3339(row.appraised_at)},
                               {"appraised_again_at", to_rfc3339(transaction.now())},
                               {"before", row.appraisal.text()},
                               {"evidence", row.evidence.text()},
                               {"policy", policy.text()},
                               {"anchor", anchor},
                               {"anchor_is_vendor", evidence.anchor_is_vendor},
                               {"result", evidence.result},
                               {"ear", Json()}}));
  ASSAY_ASSIGN(DocumentId document, transaction.put_document(kAppraisalMediaType, as_bytes(text)));
  LogRecord record{.type = std::string(event::kEvidenceAppraised),
                   .time = transaction.now(),
                   .actor = "system",
                   .subjects = {},
                   .documents = {document},
                   .detail = {{"result", evidence.accepted ? "accepted" : "rejected"},
                              {"evidence_type", row.type},
                              {"purpose", "again"},
                              {"tcb_status", nullable(evidence.tcb_status)},
                              {"anchor", anchor},
                              {"anchor_is_vendor", evidence.anchor_is_vendor}}};
  ASSAY_ASSIGN(record.subjects, subjects_again(transaction, row));
  if (!evidence.accepted) {
    record.detail["error"] = evidence.error;
  }
  ASSAY_TRY(transaction.append(std::move(record)));
  return document;
}

Result<Appraised> appraise_stage(Services& services, storage::Snapshot& snapshot,
                                 const Evidence& evidence, const ReportDataBytes& expected,
                                 const std::string& stage, const StageContext& context) {
  ASSAY_ASSIGN(const Ground ground, ground_for(snapshot, evidence.type, stage));
  Appraised appraised{{},       evidence.type, {}, {}, ground.trust_epoch, ground.policy,
                      evidence, expected,      {}};
  ASSAY_ASSIGN(appraised.collateral,
               choose_collateral(services, snapshot, evidence, ground.appraisal));
  ASSAY_ASSIGN(appraised.evidence,
               appraise_chosen(services, appraised.collateral, evidence, ground.appraisal,
                               attestation::Purpose::kStage, expected, context.now));
  EvidenceContext subject{
      context.actor, context.statement.id.text(), {}, ChallengePurpose::kEnrol, {}, context.now};
  ASSAY_ASSIGN(appraised.ear, ear_of(services, appraised, subject));
  const attestation::AppraisedEvidence& result = appraised.evidence;
  ASSAY_ASSIGN(
      appraised.document,
      canonical_json({{"v", 1},
                      {"type", appraised.type},
                      {"accepted", result.accepted},
                      {"error", nullable(result.error)},
                      {"purpose", "stage"},
                      {"statement", context.statement.id.text()},
                      {"stage", stage},
                      {"appraised_at", to_rfc3339(context.now)},
                      {"policy", appraised.policy.text()},
                      {"collateral", result.collateral ? Json(result.collateral->text()) : Json()},
                      {"anchor", anchor_of(result)},
                      {"anchor_is_vendor", result.anchor_is_vendor},
                      {"result", result.result},
                      {"ear", nullable(appraised.ear)}}));
  count(services, NodeEvent::kEvidence, result.accepted ? "accepted" : "rejected");
  return appraised;
}

Status record_stage(storage::Transaction& transaction, const Appraised& appraised,
                    const StageContext& context, const std::string& subject, StageRow stage) {
  const attestation::AppraisedEvidence& evidence = appraised.evidence;
  ASSAY_ASSIGN(const StoredEvidence stored, store_evidence(transaction, appraised.presented));
  ASSAY_ASSIGN(Json marks, evidence.accepted
                               ? advance_marks(transaction, appraised.collateral, evidence,
                                               {context.actor, kWithEvidence})
                               : marks_of_refused(transaction, appraised));
  ASSAY_ASSIGN(DocumentId document,
               transaction.put_document(kAppraisalMediaType, as_bytes(appraised.document)));
  LogRecord record{.type = std::string(event::kEvidenceAppraised),
                   .time = transaction.now(),
                   .actor = context.actor,
                   .subjects = subjects_of(context.statement),
                   .documents = {document, stage.envelope},
                   .detail = {{"result", evidence.accepted ? "accepted" : "rejected"},
                              {"evidence_type", appraised.type},
                              {"purpose", "stage"},
                              {"key_id", stage.key.text()},
                              {"tcb_status", nullable(evidence.tcb_status)},
                              {"anchor", anchor_of(evidence)},
                              {"anchor_is_vendor", evidence.anchor_is_vendor}}};
  if (!evidence.accepted) {
    record.detail["error"] = evidence.error;
  }
  ASSAY_ASSIGN(stage.log_index, transaction.append(std::move(record)));
  storage::EvidenceRow row{.subject = subject,
                           .node = {},
                           .type = appraised.type,
                           .evidence = stored.evidence,
                           .expected = Bytes(appraised.expected.begin(), appraised.expected.end()),
                           .platform = evidence.accepted ? evidence.platform : "",
                           .policy = appraised.policy,
                           .error = evidence.error,
                           .appraisal = std::move(document),
                           .appraised_at = transaction.now(),
                           .tcb_status = evidence.tcb_status,
                           .anchor = evidence.anchor,
                           .anchor_is_vendor = evidence.anchor_is_vendor,
                           .marks = std::move(marks),
                           .stage = to_json(stage),
                           .matched = evidence.matched,
                           .boot = evidence.boot};
  if (evidence.accepted) {
    note_end(row, evidence.valid_until, context.now);
  }
  return transaction.put_evidence(row);
}

Result<Json> stored_ear(storage::Snapshot& snapshot, const DocumentId& appraisal) {
  ASSAY_ASSIGN(const storage::Document document, snapshot.document(appraisal));
  ASSAY_ASSIGN(const Json json, parse_json(document.bytes));
  return json.value("ear", Json());
}

}  // namespace assay::server
