// SPDX-License-Identifier: Apache-2.0
#include "server/service/rebuild.h"

#include <algorithm>

#include "attestation/dsse.h"
#include "schemas/lifecycle.h"
#include "schemas/manifest.h"
#include "schemas/placement.h"
#include "schemas/policy_document.h"
#include "server/service/outlines.h"
#include "server/service/store_statement.h"

namespace assay::server {
namespace {

std::unexpected<Error> unreadable() {
  return fail(ErrorCode::kDataLoss, "a log record or the document that it names cannot be read");
}

std::string text_at(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Status fill_policy(storage::StatementRow& row, ByteView payload) {
  ASSAY_ASSIGN(const PolicyDocument policy, parse_policy(payload));
  row.kind = storage::StatementKind::kPolicy;
  row.name = policy.name;
  row.version = policy.version;
  return {};
}

Status fill_manifest(storage::StatementRow& row, const Statement& statement) {
  ASSAY_ASSIGN(const Manifest manifest, manifest_from(statement));
  ASSAY_ASSIGN(const ArtifactId own, artifact_id(manifest));
  row.kind = storage::StatementKind::kManifest;
  row.name = manifest.name;
  row.version = kManifestForm;
  row.locations = manifest.locations;
  ASSAY_ASSIGN(row.contents, contents_of(manifest));
  std::stable_partition(row.subjects.begin(), row.subjects.end(),
                        [&own](const std::string& subject) { return subject == own.text(); });
  return {};
}

Status fill_statement(storage::StatementRow& row, ByteView payload) {
  ASSAY_ASSIGN(const Statement statement, parse_statement(payload));
  row.predicate_type = statement.predicate_type;
  for (const Subject& subject : statement.subjects) {
    for (const auto& [algorithm, value] : subject.digest) {
      row.subjects.push_back(algorithm + ":" + value);
    }
  }
  if (statement.predicate_type == kManifestPredicateType) {
    return fill_manifest(row, statement);
  }
  if (statement.predicate_type == kPlacementPredicateType) {
    ASSAY_ASSIGN(const Placement placement, placement_from(statement));
    row.name = placement.name;
    row.locations = placement.locations;
  } else if (statement.predicate_type == kLifecyclePredicateType) {
    ASSAY_ASSIGN(const Lifecycle lifecycle, lifecycle_from(statement));
    row.stage = lifecycle.stage;
  }
  return {};
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
  storage::StatementRow row{
      .id = attestation::statement_id(envelope.payload_type, envelope.payload),
      .kind = storage::StatementKind::kAttestation,
      .payload_type = envelope.payload_type,
      .predicate_type = {},
      .stage = {},
      .name = {},
      .version = 0,
      .subjects = {},
      .locations = {},
      .signers = {},
      .envelopes = {event.record.documents.front()},
      .log_index = event.index,
      .accepted_at = event.record.time,
      .contents = {},
      .bytes = envelope.payload.size()};
  ASSAY_TRY(envelope.payload_type == kPolicyPayloadType ? fill_policy(row, envelope.payload)
                                                        : fill_statement(row, envelope.payload));
  const auto signers = event.record.detail.find("signers");
  if (signers == event.record.detail.end() || !signers->is_array()) {
    return unreadable();
  }
  for (const Json& signer : *signers) {
    ASSAY_ASSIGN(KeyId key, KeyId::parse(signer.is_string() ? signer.get<std::string>() : ""));
    row.signers.push_back({std::move(key), event.record.time, event.index});
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

}  // namespace assay::server
