// SPDX-License-Identifier: Apache-2.0
#include "cli/documents/documents.h"

#include <array>
#include <utility>

#include "client/files.h"
#include "client/http_client.h"
#include "schemas/core/json_advice.h"
#include "schemas/core/json_foreign.h"
#include "schemas/core/random.h"
#include "schemas/decision.h"
#include "schemas/document_size.h"
#include "schemas/endorsements.h"
#include "schemas/lifecycle.h"
#include "schemas/placement.h"
#include "schemas/policy_document.h"
#include "schemas/release.h"
#include "schemas/stage_evidence.h"
#include "schemas/trust.h"
#include "schemas/withdrawal.h"

namespace assay::cli {

namespace {

constexpr std::array<std::string_view, 11> kNames = {
    "manifest",        "attestation",  "policy",         "reference-set",
    "policy-approval", "trust-change", "stage-evidence", "decision",
    "withdrawal",      "endorsements", "other"};

// An envelope, or a statement with any layout.
constexpr JsonLimits kDocumentLimits{.max_bytes = kMaxEnvelopeBytes,
                                     .max_memory = kMaxStatementMemory};
static_assert(kMaxEnvelopeBytes < client::kMaxDocumentBytes &&
              kMaxEnvelopeBytes < client::kMaxResponseBytes);

// What the routes of the service take.
std::size_t max_envelope_bytes(PayloadKind kind) {
  switch (kind) {
    case PayloadKind::kManifest:
    case PayloadKind::kDecision:
    case PayloadKind::kOther:
      return kMaxEnvelopeBytes;
    case PayloadKind::kWithdrawal:
      return kMaxWithdrawalEnvelopeBytes;
    case PayloadKind::kEndorsements:
      return kMaxEndorsementsEnvelopeBytes;
    default:
      return kMaxOtherEnvelopeBytes;
  }
}

Result<PayloadKind> check_statement(ByteView payload) {
  ASSAY_ASSIGN(const Statement statement, parse_statement(payload));
  if (statement.predicate_type == kManifestPredicateType) {
    ASSAY_TRY(manifest_from(statement));
    return PayloadKind::kManifest;
  }
  if (statement.predicate_type == kLifecyclePredicateType) {
    ASSAY_TRY(lifecycle_from(statement));
  }
  if (statement.predicate_type == kPlacementPredicateType) {
    ASSAY_TRY(placement_from(statement));
  }
  if (statement.predicate_type == kReleasePredicateType) {
    ASSAY_TRY(release_from(statement));
  }
  return PayloadKind::kAttestation;
}

// Our own predicates may be written anew without changing what they say; in foreign ones even the
// spelling of a number belongs to whoever made them.
bool is_own(PayloadKind kind, ByteView payload) {
  if (kind != PayloadKind::kAttestation) {
    return kind != PayloadKind::kOther;
  }
  const Result<Statement> statement = parse_statement(payload);
  return statement && statement->predicate_type == kLifecyclePredicateType;
}

bool has_members(const Json& json, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (!json.contains(name)) {
      return false;
    }
  }
  return true;
}

std::string_view guess_type(const Json& json) {
  if (has_members(json, {"_type", "predicateType"})) {
    return kStatementPayloadType;
  }
  if (has_members(json, {"action", "policy", "sequence"})) {
    return kPolicyApprovalPayloadType;
  }
  if (has_members(json, {"sequence", "operations"})) {
    return kTrustChangePayloadType;
  }
  if (has_members(json, {"number", "made_at", "collateral"})) {
    return kEndorsementsPayloadType;
  }
  if (has_members(json, {"statement", "reason", "text"})) {
    return kWithdrawalPayloadType;
  }
  if (has_members(json, {"kind", "values", "version"})) {
    return kReferenceSetPayloadType;
  }
  if (has_members(json, {"require", "match", "mode"}) ||
      has_members(json, {"require", "version"})) {
    return kPolicyPayloadType;
  }
  return {};
}

bool is_envelope(const Json& json) {
  return json.is_object() && has_members(json, {"payload", "payloadType"});
}

// A sigstore bundle with an envelope.
bool is_bundle(const Json& json) {
  return json.is_object() && json.contains("mediaType") && json.contains("dsseEnvelope");
}

// The id of the signed decision, empty when it is no decision.
std::string decision_id(const attestation::Envelope& envelope) {
  const Result<Json> json = envelope.payload_type == kDecisionPayloadType
                                ? parse_json(ByteView(envelope.payload))
                                : Result<Json>(Json());
  if (!json || !json->is_object()) {
    return "";
  }
  const auto id = json->find("id");
  return id != json->end() && id->is_string() ? id->get<std::string>() : "";
}

Error in_file(Error error, const std::string& path) {
  error.where = error.where.empty() ? path : path + ": " + error.where;
  return error;
}

}  // namespace

std::string_view name(PayloadKind kind) { return kNames.at(static_cast<std::size_t>(kind)); }

Result<PayloadKind> check_payload(std::string_view type, ByteView payload) {
  if (type == kStatementPayloadType) {
    return check_statement(payload);
  }
  if (type == kPolicyPayloadType) {
    ASSAY_TRY(parse_policy(payload));
    return PayloadKind::kPolicy;
  }
  if (type == kReferenceSetPayloadType) {
    ASSAY_TRY(parse_reference_set(payload));
    return PayloadKind::kReferenceSet;
  }
  if (type == kPolicyApprovalPayloadType) {
    ASSAY_TRY(parse_policy_approval(payload));
    return PayloadKind::kPolicyApproval;
  }
  if (type == kTrustChangePayloadType) {
    ASSAY_TRY(parse_trust_change(payload));
    return PayloadKind::kTrustChange;
  }
  if (type == kWithdrawalPayloadType) {
    ASSAY_TRY(parse_withdrawal(payload));
    return PayloadKind::kWithdrawal;
  }
  if (type == kEndorsementsPayloadType) {
    ASSAY_TRY(parse_endorsements(payload));
    return PayloadKind::kEndorsements;
  }
  if (type == kStageEvidencePayloadType) {
    ASSAY_TRY(parse_stage_evidence(payload));
    return PayloadKind::kStageEvidence;
  }
  return type == kDecisionPayloadType ? PayloadKind::kDecision : PayloadKind::kOther;
}

Result<Payload> payload_from(ByteView document, std::string_view type) {
  std::string payload_type(type);
  if (payload_type.empty()) {
    ASSAY_ASSIGN(const Json json, parse_exact_json(document, kDocumentLimits));
    payload_type = json.is_object() ? guess_type(json) : std::string_view();
    if (payload_type.empty()) {
      return fail(ErrorCode::kPayloadTypeUnknown,
                  json.is_object() && json.contains("messageSignature")
                      ? "The sigstore bundle signs a file and no statement: see 'assay verify'"
                      : "The file is no statement, policy, approval, change of trust or bundle");
    }
  }
  ASSAY_ASSIGN(const PayloadKind kind, check_payload(payload_type, document));
  if (!is_own(kind, document)) {
    return Payload{kind, payload_type, Bytes(document.begin(), document.end())};
  }
  ASSAY_ASSIGN(const Json json, parse_json(document, kDocumentLimits));
  ASSAY_ASSIGN(const std::string canonical, canonical_json(json));
  return Payload{kind, payload_type, to_bytes(canonical)};
}

Status check_envelope_length(const Payload& payload, const attestation::Envelope* before,
                             std::size_t added) {
  constexpr std::size_t kSignatureBytes = 1024;  // with its key id
  const std::size_t most = max_envelope_bytes(payload.kind);
  const std::size_t bytes =
      kSignatureBytes * (added + 1) +
      (before != nullptr ? attestation::encode_envelope(*before).size()
                         : (payload.bytes.size() + 2) / 3 * 4 + payload.type.size());
  if (bytes <= most) {
    return {};
  }
  return fail(ErrorCode::kLimitExceeded,
              "The service takes at most " + std::to_string(most >> 10) +
                  " KiB of an envelope with a document of the kind " +
                  std::string(name(payload.kind)) + ", and this one would have " +
                  std::to_string(bytes >> 10) + "; make the document shorter");
}

Result<LoadedDocument> read_document(ByteView bytes, std::string_view type) {
  const Result<Json> json = parse_exact_json(bytes, kDocumentLimits);
  if (!json && type.empty()) {
    return std::unexpected(json.error());
  }
  if (!json || !(is_envelope(*json) || is_bundle(*json))) {
    ASSAY_ASSIGN(Payload payload, payload_from(bytes, type));
    return LoadedDocument{std::move(payload), std::nullopt};
  }
  ASSAY_ASSIGN(attestation::Envelope envelope, attestation::parse_envelope(bytes));
  if (!type.empty() && type != envelope.payload_type) {
    return fail(ErrorCode::kPayloadTypeUnknown,
                "The envelope holds a payload of type " + envelope.payload_type);
  }
  ASSAY_ASSIGN(const PayloadKind kind, check_payload(envelope.payload_type, envelope.payload));
  Payload payload{kind, envelope.payload_type, envelope.payload};
  return LoadedDocument{std::move(payload), std::move(envelope)};
}

Result<LoadedDocument> load_document(const std::string& path, std::string_view type) {
  ASSAY_ASSIGN(const Bytes bytes, client::read_file(path));
  Result<LoadedDocument> loaded = read_document(bytes, type);
  if (!loaded) {
    return std::unexpected(
        in_file(with_json_advice(std::move(loaded).error(), as_text(bytes), path), path));
  }
  return loaded;
}

Result<attestation::Envelope> envelope_for(ByteView answer, const std::string& id) {
  ASSAY_ASSIGN(attestation::Envelope envelope, attestation::parse_envelope(answer));
  const std::string sent =
      is_uuid_v7(id) ? decision_id(envelope)
                     : attestation::statement_id(envelope.payload_type, envelope.payload).text();
  if (sent != id) {
    return fail(ErrorCode::kDataLoss, "The service sent another document: " +
                                          (sent.empty() ? envelope.payload_type : sent) +
                                          "; do not use it, and ask who runs the service");
  }
  return envelope;
}

Result<Statement> statement_of(const Payload& payload) {
  if (payload.type != kStatementPayloadType) {
    return fail(ErrorCode::kPayloadTypeUnknown, "This is no in-toto statement but " + payload.type);
  }
  return parse_statement(payload.bytes);
}

Result<Manifest> manifest_of(const Payload& payload) {
  ASSAY_ASSIGN(const Statement statement, statement_of(payload));
  if (statement.predicate_type != kManifestPredicateType) {
    return fail(ErrorCode::kPredicateTypeUnknown,
                "This is no manifest but a statement of type " + statement.predicate_type);
  }
  return manifest_from(statement);
}

Result<PolicyDocument> load_policy(const std::string& path) {
  ASSAY_ASSIGN(const LoadedDocument document, load_document(path));
  if (document.payload.kind != PayloadKind::kPolicy) {
    return fail(ErrorCode::kPayloadTypeUnknown,
                "This is no policy but " + std::string(name(document.payload.kind)), path);
  }
  return parse_policy(document.payload.bytes);
}

Result<NamedModel> load_named_model(const std::string& model, const std::string& name) {
  if (Result<ArtifactId> id = ArtifactId::parse(model); id) {
    if (name.empty()) {
      return fail(ErrorCode::kUsage, "Name the model with --name: publishers are trusted for names",
                  model);
    }
    return NamedModel{name, *std::move(id)};
  }
  ASSAY_ASSIGN(const LoadedDocument document, load_document(model));
  ASSAY_ASSIGN(const Manifest manifest, manifest_of(document.payload));
  ASSAY_ASSIGN(ArtifactId artifact, artifact_id(manifest));
  if (!name.empty() && name != manifest.name) {
    return fail(ErrorCode::kSubjectMismatch,
                "The manifest names the model " + manifest.name + ", not " + name, model);
  }
  return NamedModel{manifest.name, std::move(artifact)};
}

}  // namespace assay::cli
