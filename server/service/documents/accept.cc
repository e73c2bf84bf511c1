// SPDX-License-Identifier: Apache-2.0
#include "server/service/documents/accept.h"

#include "attestation/dsse.h"
#include "attestation/oms/statement.h"
#include "schemas/core/json_at.h"
#include "schemas/lifecycle.h"
#include "schemas/log_record.h"
#include "schemas/manifest.h"
#include "schemas/placement.h"
#include "schemas/release.h"
#include "server/service/challenge_use.h"
#include "server/service/documents/statement_row.h"
#include "server/service/documents/store_statement.h"

namespace assay::server {
namespace {

// Leaves the signatures that mean something in `context`. A signature without a role that covers
// the statement says nothing of it: whoever may push anything could put such a one on a statement
// of somebody else, so it is neither stored as a signer nor counted.
Status keep_granted(VerifiedEnvelope& verified, const SigningContext& context) {
  ASSAY_ASSIGN(verified.signatures,
               attestation::require_signers(verified.signatures, context, 1, verified.now));
  return {};
}

}  // namespace

Result<Accepted> accept_manifest(Services& services, ByteView envelope, const Principal& actor) {
  ASSAY_ASSIGN(VerifiedEnvelope verified,
               verify_envelope(services, envelope, kStatementPayloadType));
  ASSAY_ASSIGN(const Statement statement, parse_statement(verified.envelope.payload));
  if (statement.predicate_type != kManifestPredicateType) {
    return fail(ErrorCode::kPredicateTypeUnknown,
                "this route takes manifests; send other statements to /v1/attestations");
  }
  ASSAY_ASSIGN(const Manifest manifest, manifest_from(statement));
  const SigningContext context{KeyPurpose::kPublisher, {}, statement.predicate_type, manifest.name};
  ASSAY_TRY(keep_granted(verified, context));

  ASSAY_ASSIGN(storage::StatementRow row, manifest_row(verified.envelope, statement, manifest));
  return store_statement(
      services, verified, envelope,
      {std::move(row), event::kManifestAccepted, Json{{"name", manifest.name}}, {}}, actor);
}

namespace {

// Where a model lies is said by whom a manifest of it could come from.
Result<Accepted> accept_placement(Services& services, ByteView envelope, VerifiedEnvelope& verified,
                                  const Statement& statement, const Principal& actor) {
  ASSAY_ASSIGN(const Placement placement, placement_from(statement));
  const SigningContext context{
      KeyPurpose::kPublisher, {}, statement.predicate_type, placement.name};
  ASSAY_TRY(keep_granted(verified, context));
  storage::StatementRow row = placement_row(verified.envelope, statement, placement);
  return store_statement(
      services, verified, envelope,
      {std::move(row),
       event::kAttestationAccepted,
       Json{{"predicate_type", statement.predicate_type}, {"name", placement.name}},
       {}},
      actor);
}

// So that no release can name one that never comes, or one of another model.
Status require_superseded(storage::Transaction& transaction, const Release& release) {
  if (!release.supersedes) {
    return {};
  }
  const auto before = transaction.statement(*release.supersedes);
  if (!before && before.error().code != ErrorCode::kNotFound) {
    return std::unexpected(before.error());
  }
  if (!before || before->predicate_type != kReleasePredicateType || before->name != release.name) {
    return fail(ErrorCode::kConflict,
                "the release that this one supersedes is not stored under this name",
                "/predicate/supersedes");
  }
  return {};
}

// Which artifact a version is says whoever may publish the name. Whose word counts, and what two
// releases in one place come to, is for policies to say.
Result<Accepted> accept_release(Services& services, ByteView envelope, VerifiedEnvelope& verified,
                                const Statement& statement, const Principal& actor) {
  ASSAY_ASSIGN(const Release release, release_from(statement));
  const SigningContext context{KeyPurpose::kPublisher, {}, statement.predicate_type, release.name};
  ASSAY_TRY(keep_granted(verified, context));
  ASSAY_ASSIGN(storage::StatementRow row, release_row(verified.envelope, statement, release));
  return store_statement(services, verified, envelope,
                         {std::move(row), event::kAttestationAccepted,
                          Json{{"predicate_type", statement.predicate_type},
                               {"name", release.name},
                               {"version", release.version}},
                          [&release](storage::Transaction& transaction) {
                            return require_superseded(transaction, release);
                          }},
                         actor);
}

// The nonce in the member "freshness" of a lifecycle statement.
Result<std::optional<Nonce>> challenge_in(const Statement& statement) {
  if (statement.predicate_type != kLifecyclePredicateType) {
    return std::nullopt;
  }
  const Json& nonce = member_at(member_at(statement.predicate, "freshness"), "challenge");
  if (!nonce.is_string()) {
    return std::nullopt;
  }
  return parse_nonce(nonce.get_ref<const std::string&>());
}

// The log keeps when the nonce was issued: the statement was made later.
Status spend(storage::Transaction& transaction, const Nonce& nonce, const Principal& actor,
             Json& detail) {
  ASSAY_ASSIGN(const storage::ChallengeRow row, transaction.consume_challenge(nonce));
  ASSAY_TRY(check_use(row, {actor.name, ChallengePurpose::kStatement, {}, {}}, transaction.now()));
  detail[kChallengeIssuedAt] = to_rfc3339(row.issued_at);
  return {};
}

}  // namespace

namespace {

// The name for which a signer needs a role. A signature of OpenSSF Model Signing has none: it says
// which bytes somebody signed, and needs a role for every name.
std::string name_asked(const Statement& statement, const Subject& subject) {
  return statement.predicate_type == attestation::oms::kPredicateType ? std::string()
                                                                      : subject.name;
}

// The root in the subject follows from the files, whoever reads it later.
Status check_known_predicate(const Statement& statement, ByteView payload) {
  if (statement.predicate_type != attestation::oms::kPredicateType) {
    return {};
  }
  ASSAY_TRY(attestation::oms::parse_oms_statement(payload, attestation::oms::OldForm::kRefused));
  return {};
}

}  // namespace

Result<Accepted> accept_attestation(Services& services, ByteView envelope, const Principal& actor) {
  ASSAY_ASSIGN(VerifiedEnvelope verified,
               verify_envelope(services, envelope, kStatementPayloadType));
  ASSAY_ASSIGN(const Statement statement, parse_statement(verified.envelope.payload));
  if (statement.predicate_type == kPlacementPredicateType) {
    return accept_placement(services, envelope, verified, statement, actor);
  }
  if (statement.predicate_type == kReleasePredicateType) {
    return accept_release(services, envelope, verified, statement, actor);
  }
  if (statement.predicate_type == kManifestPredicateType) {
    return fail(ErrorCode::kPredicateTypeUnknown, "send manifests to /v1/manifests");
  }
  ASSAY_ASSIGN(const std::string stage, stage_of(statement));
  ASSAY_TRY(check_known_predicate(statement, verified.envelope.payload));
  for (const Subject& subject : statement.subjects) {
    const SigningContext context{KeyPurpose::kSigner, stage, statement.predicate_type,
                                 name_asked(statement, subject)};
    ASSAY_TRY(keep_granted(verified, context));
  }

  ASSAY_ASSIGN(storage::StatementRow row, attestation_row(verified.envelope, statement, stage));
  Json detail = {{"predicate_type", statement.predicate_type}};
  if (!stage.empty()) {
    detail["stage"] = stage;
  }
  NewStatement made{std::move(row), event::kAttestationAccepted, std::move(detail), {}};
  ASSAY_ASSIGN(const auto nonce, challenge_in(statement));
  if (nonce) {
    made.when_new = [&](storage::Transaction& transaction, Json& logged) {
      return spend(transaction, *nonce, actor, logged);
    };
  }
  return store_statement(services, verified, envelope, made, actor);
}

}  // namespace assay::server
