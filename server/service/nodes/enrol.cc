// SPDX-License-Identifier: Apache-2.0
#include "server/service/nodes/enrol.h"

#include <algorithm>

#include "attestation/composite.h"
#include "attestation/single_signature.h"
#include "schemas/core/sha.h"
#include "schemas/log_record.h"
#include "server/service/documents/receipt.h"
#include "server/service/documents/store_statement.h"
#include "server/service/nodes/appraisal.h"
#include "server/service/nodes/challenge.h"
#include "server/service/nodes/devices.h"
#include "server/service/nodes/node_view.h"
#include "server/service/nodes/registration.h"

namespace assay::server {
namespace {

// A worker that runs asks for a job or renews a lease more often than this.
constexpr std::chrono::minutes kAlive{2};

// An enrolment as it came. Of what it says only the shape is known to be right.
struct Presented {
  ByteView bytes;
  DocumentId document;
  attestation::Envelope envelope;
  Enrolment enrolment;
  KeyId key;
  const Principal& actor;
  Timestamp now;
};

Result<Presented> present(ByteView bytes, const Principal& actor, Timestamp now) {
  ASSAY_ASSIGN(attestation::Envelope envelope, attestation::parse_envelope(bytes));
  if (envelope.payload_type != kEnrolmentPayloadType) {
    return fail(ErrorCode::kPayloadTypeUnknown, "this route takes envelopes with payloadType " +
                                                    std::string(kEnrolmentPayloadType));
  }
  ASSAY_ASSIGN(Enrolment enrolment, parse_enrolment(envelope.payload));
  KeyId key(sha256(enrolment.public_key));
  return Presented{bytes,
                   DocumentId(sha256(bytes)),
                   std::move(envelope),
                   std::move(enrolment),
                   std::move(key),
                   actor,
                   now};
}

EvidenceContext context_of(const Presented& presented) {
  return {presented.actor.name,     presented.enrolment.request.node, {},
          ChallengePurpose::kEnrol, presented.enrolment.nonce,        presented.now};
}

// The answer that this very envelope got before, while that enrolment counts.
Result<std::optional<Enrolled>> answered_before(storage::Snapshot& snapshot,
                                                const Presented& presented) {
  auto node = snapshot.node(presented.enrolment.request.node);
  if (!node && node.error().code != ErrorCode::kNotFound) {
    return std::unexpected(node.error());
  }
  if (!node || node->enrolment != presented.document || node->principal != presented.actor.name ||
      !require_active(*node, presented.now)) {
    return std::nullopt;
  }
  Enrolled enrolled{*std::move(node), true, Json(), Json()};
  if (enrolled.node.measured) {
    ASSAY_ASSIGN(enrolled.ear, stored_ear(snapshot, enrolled.node.measured->appraisal));
  }
  ASSAY_ASSIGN(enrolled.receipt, log_receipt(snapshot, enrolled.node.log_index));
  return enrolled;
}

// The worker key is nobody else's: not in the trust store, and never of another node.
Status require_own_key(storage::Snapshot& snapshot, const Presented& presented) {
  const auto trusted = snapshot.key(presented.key);
  if (trusted) {
    return fail(ErrorCode::kKeyNotUnique,
                "the key is in the trust store and cannot be a worker's; make a new one");
  }
  if (trusted.error().code != ErrorCode::kNotFound) {
    return std::unexpected(trusted.error());
  }
  const auto owner = snapshot.key_owner(presented.key);
  if (owner && *owner != presented.enrolment.request.node) {
    return fail(ErrorCode::kKeyNotUnique, "another node has or had this key; make a new one");
  }
  if (!owner && owner.error().code != ErrorCode::kNotFound) {
    return std::unexpected(owner.error());
  }
  return {};
}

// The node as it is, if it may be enrolled (again) by this principal with this key. Operators may
// have registered the name for another principal than before.
Result<std::optional<storage::NodeRow>> admissible(
    storage::Snapshot& snapshot, const Presented& presented,
    const std::optional<Registration>& registration) {
  ASSAY_TRY(require_own_key(snapshot, presented));
  auto node = snapshot.node(presented.enrolment.request.node);
  if (!node) {
    return node.error().code == ErrorCode::kNotFound
               ? Result<std::optional<storage::NodeRow>>(std::nullopt)
               : std::unexpected(node.error());
  }
  if (!registration && node->principal != presented.actor.name) {
    return fail(ErrorCode::kNodeTaken, "only the principal that enrolled the node may renew it");
  }
  if (node->revoked) {
    return fail(ErrorCode::kNodeRevoked, "a revoked node stays revoked; enrol it under a new name");
  }
  return *std::move(node);
}

Result<std::optional<Composite>> appraise(Services& services, storage::Snapshot& snapshot,
                                          const Presented& presented) {
  const Enrolment& enrolment = presented.enrolment;
  if (!enrolment.evidence) {
    if (!services.nodes.dangerous_allow_unmeasured) {
      return fail(ErrorCode::kEvidenceMissing, "this service enrols measured workers only",
                  "/evidence");
    }
    if (!enrolment.request.platform.empty()) {
      return fail(ErrorCode::kEnrolmentMismatch, "a platform is named without evidence of it",
                  "/request/platform");
    }
    return std::nullopt;
  }
  ASSAY_ASSIGN(Composite appraised,
               appraise_enrolment(services, snapshot, enrolment, context_of(presented)));
  return appraised;
}

Json device_list(const Enrolment& enrolment) {
  Json list = Json::array();
  for (const NodeDevice& device : enrolment.devices) {
    list.push_back(to_json(device));
  }
  return list;
}

storage::NodeRow node_row(const Services& services, const Presented& presented,
                          const std::optional<Registration>& registration,
                          const std::optional<Composite>& appraised) {
  storage::NodeRow row{.name = presented.enrolment.request.node,
                       .principal = presented.actor.name,
                       .key = presented.key,
                       .public_key = presented.enrolment.public_key,
                       .platform = presented.enrolment.request.platform,
                       .enrolled_at = presented.now,
                       .held_since = presented.now,
                       .expires_at = presented.now + services.nodes.enrolment_life,
                       .revoked = {},
                       .devices = device_list(presented.enrolment),
                       .enrolment = presented.document,
                       .measured = {},
                       .log_index = 0,
                       .registration = registration ? registration->id : std::string(),
                       .ended = {}};
  if (appraised) {
    list_devices(presented.enrolment, appraised->devices, row);
    if (const auto& until = appraised->node.evidence.valid_until) {
      row.expires_at = std::min(row.expires_at, *until);
    }
  }
  return row;
}

// What the enrolment stands on from now on.
Result<std::optional<storage::NodeRow::Measured>> store_evidence_of(
    storage::Transaction& transaction, const Presented& presented,
    const std::optional<Composite>& appraised) {
  if (!appraised) {
    ASSAY_TRY(transaction.forget_evidence(node_subject(presented.enrolment.request.node)));
    return std::nullopt;
  }
  ASSAY_ASSIGN(const DocumentId document,
               record_appraisal(transaction, appraised->node, context_of(presented)));
  for (const Appraised& device : appraised->devices) {
    ASSAY_TRY(record_appraisal(transaction, device, context_of(presented)));
  }
  const attestation::AppraisedEvidence& evidence = appraised->node.evidence;
  if (!evidence.anchor) {
    return fail(ErrorCode::kInternal, "accepted evidence without an anchor");
  }
  return storage::NodeRow::Measured{document,
                                    presented.now,
                                    appraised->node.type,
                                    evidence.tcb_status,
                                    *evidence.anchor,
                                    evidence.anchor_is_vendor};
}

// Whether the worker that the node had before was heard of a short time ago: it may be alive still.
bool was_alive(const Services& services, const storage::NodeRow& before, Timestamp now) {
  const Timestamp seen =
      std::max(before.enrolled_at, services.last_seen.of(before.name).value_or(Timestamp()));
  return require_active(before, now).has_value() && seen > now - kAlive;
}

// Another key takes the name: the worker that had it loses it, and operators want to know.
Status supersede(const Services& services, storage::Transaction& transaction,
                 const storage::NodeRow& before, storage::NodeRow& row) {
  if (before.key == row.key || !was_alive(services, before, transaction.now())) {
    return {};
  }
  row.superseded = {before.superseded.count + 1, transaction.now(), before.key.text()};
  ASSAY_TRY(transaction.append({.type = std::string(event::kNodeSuperseded),
                                .time = transaction.now(),
                                .actor = row.principal,
                                .subjects = {node_subject(row.name)},
                                .documents = {},
                                .detail = {{"node", row.name},
                                           {"key_id", before.key.text()},
                                           {"by", row.key.text()},
                                           {"count", row.superseded.count}}}));
  return {};
}

// What the enrolment was checked against is what is in force at the write.
Status require_same_registration(const Services& services, storage::Transaction& transaction,
                                 const Presented& presented,
                                 const std::optional<Registration>& registration) {
  ASSAY_ASSIGN(const auto now,
               require_registration(services, transaction, presented.enrolment.request,
                                    presented.actor.name));
  if (now != registration) {
    return fail(ErrorCode::kUnavailable,
                "the node's registration changed meanwhile; begin again with a new challenge");
  }
  return {};
}

// Whether the name goes on as the same machine's. A worker has a new key at each start: what stays
// is the platform that its evidence shows, and without evidence nothing but the key.
bool holds_on(const storage::NodeRow& before, const storage::NodeRow& row) {
  const bool same_machine =
      before.platform == row.platform && (!row.platform.empty() || before.key == row.key);
  return !before.ended && !before.revoked && before.principal == row.principal &&
         before.registration == row.registration && same_machine;
}

// One write: evidence, envelope, records, node, and what ends for it.
Status store_node(const Services& services, storage::Transaction& transaction,
                  const Presented& presented, const std::optional<Registration>& registration,
                  const std::optional<Composite>& appraised, Enrolled& enrolled) {
  storage::NodeRow& row = enrolled.node;
  ASSAY_TRY(require_same_registration(services, transaction, presented, registration));
  ASSAY_ASSIGN(const auto before, admissible(transaction, presented, registration));
  enrolled.renewed = before && before->key == presented.key;
  enrolled.superseded = false;
  row.held_since = transaction.now();
  if (before) {
    if (holds_on(*before, row)) {
      row.held_since = before->held_since;
      carry_devices(*before, row);
    }
    row.superseded = before->superseded;
    ASSAY_TRY(supersede(services, transaction, *before, row));
    enrolled.superseded = row.superseded != before->superseded;
  }
  ASSAY_TRY(claim_platform(transaction, row, registration));
  ASSAY_TRY(claim_devices(transaction, before, row));
  ASSAY_ASSIGN(row.measured, store_evidence_of(transaction, presented, appraised));
  std::vector<DocumentId> documents = {presented.document};
  if (row.measured) {
    documents.push_back(row.measured->appraisal);
  }
  ASSAY_TRY(transaction.put_document(kEnvelopeMediaType, presented.bytes));
  LogRecord record{.type = std::string(event::kNodeEnrolled),
                   .time = transaction.now(),
                   .actor = presented.actor.name,
                   .subjects = {node_subject(row.name)},
                   .documents = std::move(documents),
                   .detail = {{"node", row.name},
                              {"key_id", row.key.text()},
                              {"renewal", enrolled.renewed},
                              {"worker_measured", row.measured.has_value()},
                              {"registration", row.registration},
                              {"expires_at", to_rfc3339(row.expires_at)}}};
  ASSAY_ASSIGN(row.log_index, transaction.append(std::move(record)));
  return transaction.put_node(row);
}

// `snapshot` is what everything is checked against, and is given back before the write, which
// checks again what may have changed.
Result<Enrolled> enrol_presented(Services& services, std::unique_ptr<storage::Snapshot> snapshot,
                                 const Presented& presented) {
  const Enrolment& enrolment = presented.enrolment;
  ASSAY_TRY(spend_challenge(
      services, enrolment.nonce,
      {presented.actor.name, ChallengePurpose::kEnrol, enrolment.request.node, {}}, presented.now));
  if (enrolment.request.audience != audience(services)) {
    return fail(ErrorCode::kEnrolmentMismatch, "the enrolment was made for another service",
                "/request/audience");
  }
  ASSAY_TRY(attestation::verify_single_signature(presented.envelope, enrolment.public_key));
  ASSAY_TRY(attestation::check_presented(enrolment));
  ASSAY_ASSIGN(const std::optional<Registration> registration,
               require_registration(services, *snapshot, enrolment.request, presented.actor.name));
  ASSAY_TRY(admissible(*snapshot, presented, registration));
  ASSAY_TRY(verify_identity(services, registration, enrolment, presented.now));
  ASSAY_ASSIGN(const auto room, services.node_quota.enrolments.reserve(
                                    enrolment.request.node,
                                    presented.bytes.size() + kNodeRecordBytes, presented.now));
  const auto appraised = appraise(services, *snapshot, presented);
  if (enrolment.evidence) {
    room->keep();  // it cost an appraisal, whatever comes of it
  }
  if (!appraised) {
    return std::unexpected(appraised.error());
  }
  snapshot.reset();
  const bool has_ear = *appraised && !(*appraised)->node.ear.empty();
  Enrolled enrolled{node_row(services, presented, registration, *appraised), false,
                    has_ear ? Json((*appraised)->node.ear) : Json(), Json()};
  ASSAY_TRY(services.store.write([&](storage::Transaction& transaction) {
    return store_node(services, transaction, presented, registration, *appraised, enrolled);
  }));
  room->keep();
  evidence_moved(services);
  ASSAY_ASSIGN(snapshot, services.store.snapshot());
  ASSAY_ASSIGN(enrolled.receipt, log_receipt(*snapshot, enrolled.node.log_index));
  return enrolled;
}

}  // namespace

Result<Enrolled> enrol(Services& services, ByteView envelope, const Principal& actor) {
  ASSAY_ASSIGN(const Presented presented, present(envelope, actor, services.clock.now()));
  ASSAY_ASSIGN(auto snapshot, services.store.snapshot());
  ASSAY_ASSIGN(std::optional<Enrolled> before, answered_before(*snapshot, presented));
  if (before) {
    return *std::move(before);
  }
  Result<Enrolled> enrolled = enrol_presented(services, std::move(snapshot), presented);
  count(services, NodeEvent::kEnrolment,
        !enrolled              ? "refused"
        : enrolled->superseded ? "superseded"
        : enrolled->renewed    ? "renewed"
                               : "enrolled");
  return enrolled;
}

Result<storage::NodeRow> owned_node(storage::NodeReads& reads, const std::string& name,
                                    const Principal& actor) {
  auto node = reads.node(name);
  if (!node && node.error().code == ErrorCode::kNotFound) {
    return fail(ErrorCode::kNodeNotEnrolled, "the node is not enrolled; start its agent");
  }
  if (node && node->principal != actor.name) {
    return fail(ErrorCode::kNodeTaken, "only the principal that enrolled the node may act for it");
  }
  return node;
}

Status require_active(const storage::NodeRow& node, Timestamp now) {
  if (node.revoked) {
    return fail(ErrorCode::kNodeRevoked, "the node has been revoked; use another one");
  }
  if (node.ended) {
    return fail(ErrorCode::kEnrolmentEnded, "the enrolment was ended: " + node.ended->reason);
  }
  if (node.expires_at <= now) {
    return fail(ErrorCode::kEnrolmentExpired, "the node's enrolment is over; enrol it again");
  }
  return {};
}

}  // namespace assay::server
