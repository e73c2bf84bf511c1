// SPDX-License-Identifier: Apache-2.0
#include "server/service/upkeep/rebuild.h"

#include "attestation/dsse.h"
#include "schemas/core/json_values.h"
#include "schemas/core/sha.h"
#include "schemas/enrolment.h"
#include "server/service/documents/statement_row.h"
#include "server/service/documents/store_statement.h"

namespace assay::server {
namespace {

std::unexpected<Error> unreadable() {
  return fail(ErrorCode::kDataLoss, "a log record or the document that it names cannot be read");
}

std::string text_at(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// What the record says of a signature by certificate.
Result<std::optional<CertificateUse>> certificate_of(const LogRecord& record, const KeyId& key) {
  const auto all = record.detail.find(kCertificates);
  if (all == record.detail.end() || !all->is_object() || !all->contains(key.text())) {
    return std::nullopt;
  }
  ASSAY_ASSIGN(CertificateUse use, json::get<CertificateUse>(all->at(key.text())));
  return std::optional(std::move(use));
}

// What accepting the document wrote of it (statement_row.h).
Result<storage::StatementRow> row_of(const attestation::Envelope& envelope) {
  if (envelope.payload_type == kPolicyPayloadType) {
    ASSAY_ASSIGN(const PolicyDocument policy, parse_policy(envelope.payload));
    return policy_row(envelope, policy);
  }
  if (envelope.payload_type == kReferenceSetPayloadType) {
    ASSAY_ASSIGN(const ReferenceSet set, parse_reference_set(envelope.payload));
    return reference_set_row(envelope, set);
  }
  ASSAY_ASSIGN(const Statement statement, parse_statement(envelope.payload));
  if (statement.predicate_type == kManifestPredicateType) {
    ASSAY_ASSIGN(const Manifest manifest, manifest_from(statement));
    return manifest_row(envelope, statement, manifest);
  }
  if (statement.predicate_type == kPlacementPredicateType) {
    ASSAY_ASSIGN(const Placement placement, placement_from(statement));
    return placement_row(envelope, statement, placement);
  }
  if (statement.predicate_type == kReleasePredicateType) {
    ASSAY_ASSIGN(const Release release, release_from(statement));
    return release_row(envelope, statement, release);
  }
  ASSAY_ASSIGN(std::string stage, stage_of(statement));
  return attestation_row(envelope, statement, std::move(stage));
}

Result<attestation::Envelope> envelope_of(const storage::DocumentReader& documents,
                                          const storage::EventRow& event) {
  if (event.record.documents.empty()) {
    return unreadable();
  }
  ASSAY_ASSIGN(const storage::Document document, documents(event.record.documents.front()));
  return attestation::parse_envelope(document.bytes);
}

}  // namespace

Result<storage::StatementRow> rebuild_statement(const storage::DocumentReader& documents,
                                                const storage::EventRow& event) {
  ASSAY_ASSIGN(const attestation::Envelope envelope, envelope_of(documents, event));
  ASSAY_ASSIGN(storage::StatementRow row, row_of(envelope));
  row.envelopes = {event.record.documents.front()};
  row.log_index = event.index;
  row.accepted_at = event.record.time;
  const auto signers = event.record.detail.find("signers");
  if (signers == event.record.detail.end() || !signers->is_array()) {
    return unreadable();
  }
  for (const Json& signer : *signers) {
    ASSAY_ASSIGN(KeyId key, KeyId::parse(signer.is_string() ? signer.get<std::string>() : ""));
    ASSAY_ASSIGN(auto certificate, certificate_of(event.record, key));
    row.signers.push_back({std::move(key), event.record.time, event.index, std::move(certificate)});
  }
  return row;
}

Result<storage::DecisionRow> rebuild_decision(const storage::DocumentReader& documents,
                                              const storage::EventRow& event) {
  ASSAY_ASSIGN(const attestation::Envelope envelope, envelope_of(documents, event));
  ASSAY_ASSIGN(const Json decision, parse_json(envelope.payload));
  ASSAY_ASSIGN(const Timestamp evaluated, parse_rfc3339(text_at(decision, "evaluated_at")));
  const Json& detail = event.record.detail;
  storage::DecisionRow row{.id = text_at(detail, "decision_id"),
                           .envelope = event.record.documents.front(),
                           .allowed = text_at(detail, "verdict") == "allow",
                           .point = text_at(detail, "point"),
                           .subjects = event.record.subjects,
                           .name_space = text_at(detail, "namespace"),
                           .reasons = {},
                           .evaluated_at = evaluated,
                           .log_index = event.index};
  const auto reasons = detail.find("reasons");
  if (reasons == detail.end() || !reasons->is_array()) {
    return unreadable();
  }
  for (const Json& reason : *reasons) {
    row.reasons.push_back(reason.is_string() ? reason.get<std::string>() : std::string());
  }
  return row;
}

Result<storage::NodeRow> rebuild_node(const storage::DocumentReader& documents,
                                      const storage::EventRow& event) {
  ASSAY_ASSIGN(const attestation::Envelope envelope, envelope_of(documents, event));
  ASSAY_ASSIGN(const Enrolment enrolment, parse_enrolment(envelope.payload));
  const Json& detail = event.record.detail;
  ASSAY_ASSIGN(const Timestamp expires_at, parse_rfc3339(text_at(detail, "expires_at")));
  Json devices = Json::array();
  for (const NodeDevice& device : enrolment.devices) {
    devices.push_back(to_json(device));
  }
  return storage::NodeRow{
      .name = enrolment.request.node,
      .principal = event.record.actor,
      .key = KeyId(sha256(enrolment.public_key)),
      .public_key = enrolment.public_key,
      .platform = enrolment.request.platform,
      .enrolled_at = event.record.time,
      .held_since = event.record.time,
      .expires_at = expires_at,
      .revoked = {},
      .devices = std::move(devices),
      .enrolment = event.record.documents.front(),
      .measured = {},
      .log_index = event.index,
      .registration = text_at(detail, "registration"),
      .ended = Revocation{event.record.time, "its row was lost; enrol the node again"}};
}

Result<storage::JobRow> rebuild_job(const storage::EventRow& event) {
  const LogRecord& record = event.record;
  if (record.subjects.empty()) {
    return unreadable();
  }
  ASSAY_ASSIGN(ArtifactId artifact, ArtifactId::parse(record.subjects.front()));
  const Json& detail = record.detail;
  storage::JobRow job{.id = text_at(detail, "job"),
                      .artifact = std::move(artifact),
                      .model_name = {},
                      .scope = text_at(detail, "scope"),
                      .node = text_at(detail, "node"),
                      .location = text_at(detail, "location"),
                      .pod = text_at(detail, "pod"),
                      .pod_volume = text_at(detail, "pod_volume"),
                      .instance = text_at(detail, "instance"),
                      .created_by = record.actor,
                      .created_at = record.time,
                      .state = storage::JobState::kDone,
                      .lease_expires_at = {},
                      .pending = Json(),
                      .result = "failed",
                      .detail = {{"code", info(ErrorCode::kDataLoss).code}},
                      .report = {},
                      .finished_at = record.time,
                      .log_index = event.index};
  return job;
}

}  // namespace assay::server
