// SPDX-License-Identifier: Apache-2.0
#include "server/service/documents/accept.h"

#include "attestation/dsse.h"
#include "schemas/log_record.h"
#include "schemas/manifest.h"
#include "schemas/placement.h"
#include "server/service/documents/statement_row.h"
#include "server/service/documents/store_statement.h"

namespace assay::server {
namespace {

Status require_version_free(storage::Snapshot& snapshot, const StatementId& id,
                            const PolicyDocument& policy) {
  storage::StatementQuery query;
  query.kind = storage::StatementKind::kPolicy;
  query.name = policy.name;
  query.bounds.limit = 1000;
  for (;;) {
    ASSAY_ASSIGN(const auto page, snapshot.statements(query));
    for (const storage::StatementRow& row : page.items) {
      if (row.version == policy.version && row.id != id) {
        return fail(ErrorCode::kConflict, "version " + std::to_string(policy.version) +
                                              " of this policy exists with other content; policies "
                                              "are immutable, use the next version");
      }
    }
    if (!page.next) {
      return {};
    }
    query.bounds.after = page.next;
  }
}

}  // namespace

Result<Accepted> accept_manifest(Services& services, ByteView envelope, const Principal& actor) {
  ASSAY_ASSIGN(const VerifiedEnvelope verified,
               verify_envelope(services, envelope, kStatementPayloadType));
  ASSAY_ASSIGN(const Statement statement, parse_statement(verified.envelope.payload));
  if (statement.predicate_type != kManifestPredicateType) {
    return fail(ErrorCode::kPredicateTypeUnknown,
                "this route takes manifests; send other statements to /v1/attestations");
  }
  ASSAY_ASSIGN(const Manifest manifest, manifest_from(statement));
  const SigningContext context{KeyPurpose::kPublisher, {}, statement.predicate_type, manifest.name};
  ASSAY_TRY(attestation::require_signers(verified.signatures, context, 1, verified.now));

  ASSAY_ASSIGN(storage::StatementRow row, manifest_row(verified.envelope, statement, manifest));
  return store_statement(
      services, verified, envelope,
      {std::move(row), event::kManifestAccepted, Json{{"name", manifest.name}}, {}}, actor);
}

namespace {

// Where a model lies is said by whom a manifest of it could come from.
Result<Accepted> accept_placement(Services& services, ByteView envelope,
                                  const VerifiedEnvelope& verified, const Statement& statement,
                                  const Principal& actor) {
  ASSAY_ASSIGN(const Placement placement, placement_from(statement));
  const SigningContext context{
      KeyPurpose::kPublisher, {}, statement.predicate_type, placement.name};
  ASSAY_TRY(attestation::require_signers(verified.signatures, context, 1, verified.now));
  storage::StatementRow row = placement_row(verified.envelope, statement, placement);
  return store_statement(
      services, verified, envelope,
      {std::move(row),
       event::kAttestationAccepted,
       Json{{"predicate_type", statement.predicate_type}, {"name", placement.name}},
       {}},
      actor);
}

}  // namespace

Result<Accepted> accept_attestation(Services& services, ByteView envelope, const Principal& actor) {
  ASSAY_ASSIGN(const VerifiedEnvelope verified,
               verify_envelope(services, envelope, kStatementPayloadType));
  ASSAY_ASSIGN(const Statement statement, parse_statement(verified.envelope.payload));
  if (statement.predicate_type == kPlacementPredicateType) {
    return accept_placement(services, envelope, verified, statement, actor);
  }
  if (statement.predicate_type == kManifestPredicateType) {
    return fail(ErrorCode::kPredicateTypeUnknown, "send manifests to /v1/manifests");
  }
  ASSAY_ASSIGN(const std::string stage, stage_of(statement));
  for (const Subject& subject : statement.subjects) {
    const SigningContext context{KeyPurpose::kSigner, stage, statement.predicate_type,
                                 subject.name};
    ASSAY_TRY(attestation::require_signers(verified.signatures, context, 1, verified.now));
  }

  storage::StatementRow row = attestation_row(verified.envelope, statement, stage);
  Json detail = {{"predicate_type", statement.predicate_type}};
  if (!stage.empty()) {
    detail["stage"] = stage;
  }
  return store_statement(services, verified, envelope,
                         {std::move(row), event::kAttestationAccepted, std::move(detail), {}},
                         actor);
}

Result<Accepted> accept_policy(Services& services, ByteView envelope, const Principal& actor) {
  ASSAY_ASSIGN(const VerifiedEnvelope verified,
               verify_envelope(services, envelope, kPolicyPayloadType));
  ASSAY_ASSIGN(const PolicyDocument policy, parse_policy(verified.envelope.payload));
  const SigningContext context{KeyPurpose::kAuthor, {}, {}, {}};
  ASSAY_TRY(attestation::require_signers(verified.signatures, context, 1, verified.now));

  storage::StatementRow row = policy_row(verified.envelope, policy);
  return store_statement(services, verified, envelope,
                         {std::move(row), event::kPolicyAccepted,
                          Json{{"name", policy.name}, {"version", policy.version}},
                          [&](storage::Transaction& transaction) {
                            return require_version_free(transaction, verified.id, policy);
                          }},
                         actor);
}

}  // namespace assay::server
