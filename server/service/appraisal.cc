// SPDX-License-Identifier: Apache-2.0
#include "server/service/appraisal.h"

#include "attestation/ear.h"
#include "schemas/core/sha.h"
#include "schemas/log_record.h"
#include "server/service/nodes.h"

namespace assay::server {
namespace {

constexpr std::string_view kAppraisalMediaType = "application/vnd.assay.appraisal+json";

Result<Appraisal> appraisal_of(storage::Snapshot& snapshot, const std::string& type) {
  auto stored = snapshot.appraisal(type);
  if (stored || stored.error().code != ErrorCode::kNotFound) {
    return stored;
  }
  return attestation::default_appraisal(type);
}

// Id of what the evidence was held against: policy and anchors.
Result<DocumentId> policy_id(const Appraisal& appraisal) {
  ASSAY_ASSIGN(const std::string text, canonical_json(to_json(appraisal)));
  return DocumentId(sha256(as_bytes(text)));
}

Json nullable(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json anchor_of(const attestation::AppraisedEvidence& evidence) {
  return evidence.anchor ? Json(evidence.anchor->text()) : Json();
}

Result<std::string> make_document(const Appraised& appraised, const DocumentId& policy,
                                  const EvidenceContext& context) {
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
                         {"policy", policy.text()},
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
                           const DocumentId& policy, const EvidenceContext& context) {
  if (services.ear_signer == nullptr || !appraised.evidence.accepted) {
    return std::string();
  }
  attestation::EarContext ear;
  ear.issuer = audience(services);
  ear.build = services.version;
  ear.nonce = text(context.nonce);
  ear.node = context.node;
  ear.policy = policy.text();
  ear.now = context.now;
  return attestation::make_ear(appraised.evidence, ear, *services.ear_signer);
}

}  // namespace

Result<Appraised> appraise_evidence(Services& services, const Evidence& evidence,
                                    const ReportDataBytes& expected,
                                    const EvidenceContext& context) {
  std::optional<Appraisal> appraisal;
  Appraised appraised{{}, evidence.type, {}, {}, 0};
  {
    ASSAY_ASSIGN(const auto snapshot, services.store.snapshot());
    ASSAY_ASSIGN(const storage::Epochs epochs, snapshot->epochs());
    ASSAY_ASSIGN(appraisal, appraisal_of(*snapshot, evidence.type));
    appraised.trust_epoch = epochs.trust.trust;
  }
  // Reports stand on the same ground as the enrolment: reference values are needed for both.
  ASSAY_ASSIGN(appraised.evidence,
               attestation::appraise(evidence, *appraisal, attestation::Purpose::kEnrol, expected,
                                     context.now));
  ASSAY_ASSIGN(const DocumentId policy, policy_id(*appraisal));
  ASSAY_ASSIGN(appraised.ear, ear_of(services, appraised, policy, context));
  ASSAY_ASSIGN(appraised.document, make_document(appraised, policy, context));
  count(services, NodeEvent::kEvidence, appraised.evidence.accepted ? "accepted" : "rejected");
  if (!appraised.evidence.accepted) {
    ASSAY_TRY(log_refusal(services, appraised, context));
    return fail(ErrorCode::kEvidenceRejected,
                appraised.evidence.error + ": the " + appraised.type + " evidence is refused",
                "/evidence");
  }
  return appraised;
}

Result<DocumentId> record_appraisal(storage::Transaction& transaction, const Appraised& appraised,
                                    const EvidenceContext& context) {
  ASSAY_ASSIGN(const storage::Epochs epochs, transaction.epochs());
  if (epochs.trust.trust != appraised.trust_epoch) {
    return fail(ErrorCode::kUnavailable,
                "the trust store changed meanwhile; begin again with a new challenge");
  }
  for (const attestation::HighWater& mark : appraised.evidence.high_water) {
    ASSAY_ASSIGN(const std::uint64_t seen, transaction.high_water(mark.name));
    if (mark.value < seen) {
      return fail(ErrorCode::kCollateralRollback,
                  "collateral with the number " + std::to_string(seen) + " was seen for " +
                      mark.name + "; this one has " + std::to_string(mark.value));
    }
    ASSAY_TRY(transaction.raise_high_water(mark.name, mark.value));
  }
  ASSAY_ASSIGN(DocumentId document,
               transaction.put_document(kAppraisalMediaType, as_bytes(appraised.document)));
  ASSAY_TRY(append_record(transaction, appraised, context, document));
  return document;
}

Result<Json> stored_ear(storage::Snapshot& snapshot, const DocumentId& appraisal) {
  ASSAY_ASSIGN(const storage::Document document, snapshot.document(appraisal));
  ASSAY_ASSIGN(const Json json, parse_json(document.bytes));
  return json.value("ear", Json());
}

}  // namespace assay::server
