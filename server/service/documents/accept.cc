// SPDX-License-Identifier: Apache-2.0
#include "server/service/documents/accept.h"

#include "attestation/dsse.h"
#include "schemas/log_record.h"
#include "schemas/manifest.h"
#include "schemas/placement.h"
#include "server/service/documents/statement_row.h"
#include "server/service/documents/store_statement.h"

namespace assay::server {
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

  ASSAY_ASSIGN(storage::StatementRow row, attestation_row(verified.envelope, statement, stage));
  Json detail = {{"predicate_type", statement.predicate_type}};
  if (!stage.empty()) {
    detail["stage"] = stage;
  }
  return store_statement(services, verified, envelope,
                         {std::move(row), event::kAttestationAccepted, std::move(detail), {}},
                         actor);
}

}  // namespace assay::server
