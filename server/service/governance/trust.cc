// SPDX-License-Identifier: Apache-2.0
#include "server/service/governance/trust.h"

#include <algorithm>
#include <set>

#include "attestation/dsse.h"
#include "attestation/identity_token.h"
#include "attestation/keys.h"
#include "attestation/verifier_registry.h"
#include "schemas/core/sha.h"
#include "schemas/log_record.h"
#include "server/service/documents/receipt.h"
#include "server/service/documents/store_statement.h"
#include "server/service/governance/certificate_identities.h"
#include "server/service/governance/reference_values.h"
#include "server/service/governance/withdrawals.h"
#include "server/service/job_bell.h"
#include "server/service/nodes/registration.h"
#include "server/service/write_change.h"

namespace assay::server {
namespace {

// The key must be what its record says, in the one encoding that its id is computed from.
Status check_key(storage::Snapshot& snapshot, const TrustedKey& key) {
  if (key.certificate) {
    return check_certificate_identity(snapshot, *key.certificate);
  }
  if (!key.algorithm) {
    return fail(ErrorCode::kUnsupportedKey, "the key names no algorithm", key.id.text());
  }
  ASSAY_ASSIGN(const auto parsed, attestation::PublicKey::from_der(key.public_key, *key.algorithm));
  if (parsed.id() != key.id) {
    return fail(ErrorCode::kUnsupportedKey, "the key's id does not fit its bytes", key.id.text());
  }
  return {};
}

bool counts_as_operator(const TrustedKey& key, Timestamp now) {
  return check_grant(key, {KeyPurpose::kOperator, {}, {}, {}}, now, now).has_value();
}

// A service whose trust nobody can change any more cannot be repaired: refuse to get there.
Status check_still_governable(storage::Snapshot& snapshot, Timestamp now) {
  std::set<std::string> operators;
  ASSAY_ASSIGN(const auto keys, snapshot.keys());
  for (const TrustedKey& key : keys) {
    if (counts_as_operator(key, now)) {
      operators.insert(key.identity);
    }
  }
  ASSAY_ASSIGN(const auto principals, snapshot.principals());
  const bool admin = std::any_of(principals.begin(), principals.end(), [&](const Principal& p) {
    return p.roles.contains(AccessRole::kAdmin) && !p.credentials.empty() &&
           (!p.not_after || *p.not_after > now);
  });
  if (operators.size() < kTrustChangeThreshold || !admin) {
    return fail(ErrorCode::kConflict,
                "at least two operator identities and one admin principal must remain");
  }
  return {};
}

// What the log says of an appraisal: digests, because a record is small. The document that set it
// stands beside the record.
Result<Json> appraisal_summary(const Appraisal& appraisal) {
  ASSAY_ASSIGN(const std::string policy, canonical_json(appraisal.policy));
  Json anchors = Json::array();
  for (const Bytes& anchor : appraisal.dangerous_anchors) {
    anchors.push_back(sha256(anchor).text());
  }
  Json summary = {{"op", "put-appraisal"},
                  {"evidence_type", appraisal.evidence_type},
                  {"policy", sha256(as_bytes(policy)).text()},
                  {"dangerous_anchors", std::move(anchors)},
                  {"dangerous_allow_missing_reference_values",
                   appraisal.dangerous_allow_missing_reference_values}};
  if (!appraisal.stage.empty()) {
    summary["stage"] = appraisal.stage;
  }
  return summary;
}

// What the log says of a registration: its key set can be long.
Result<Json> registration_summary(const Registration& registration) {
  ASSAY_ASSIGN(const std::string text, canonical_json(to_json(registration)));
  return Json{{"op", "put-registration"},
              {"id", registration.id},
              {"node", registration.node},
              {"principal", registration.principal},
              {"registration", sha256(as_bytes(text)).text()}};
}

Status check_registration(const Registration& registration) {
  return registration.service_account
             ? attestation::check_key_set(registration.service_account->jwks)
             : Status();
}

// Ascending.
std::vector<std::string> identities_of(
    const std::vector<attestation::VerifiedSignature>& signatures) {
  std::set<std::string> identities;
  for (const auto& signature : signatures) {
    identities.insert(signature.key.identity);
  }
  return {identities.begin(), identities.end()};
}

// Applies one operation; returns what the log says about it.
class Applier {
 public:
  // `operators` are the identities that signed the change, ascending.
  Applier(const attestation::VerifierRegistry& verifiers, storage::Transaction& transaction,
          storage::Epochs& epochs, const std::vector<std::string>& operators,
          const PreparedReferences& references)
      : verifiers_(verifiers),
        transaction_(transaction),
        epochs_(epochs),
        operators_(operators),
        references_(references) {}

  Result<Json> operator()(const AddKey& operation) {
    ASSAY_TRY(check_key(transaction_, operation.key));
    if (operation.key.revoked) {
      return fail(ErrorCode::kConflict, "a new key cannot be revoked already");
    }
    // Also for a revoked key: nothing un-revokes.
    if (transaction_.key(operation.key.id)) {
      return fail(ErrorCode::kConflict, "the key is known already", operation.key.id.text());
    }
    // What a worker signs must never count as anybody else's word.
    if (transaction_.key_owner(operation.key.id)) {
      return fail(ErrorCode::kKeyNotUnique, "a node has or had this key", operation.key.id.text());
    }
    ASSAY_TRY(transaction_.put_key(operation.key));
    return Json{{"op", "add-key"},
                {"key_id", operation.key.id.text()},
                {"purpose", name(operation.key.purpose)},
                {"identity", operation.key.identity}};
  }

  Result<Json> operator()(const RevokeKey& operation) {
    ASSAY_ASSIGN(TrustedKey key, transaction_.key(operation.key));
    const Revocation revocation{transaction_.now(), operation.reason, operation.since};
    if (key.revoked && !is_stricter(revocation, *key.revoked)) {
      return fail(ErrorCode::kConflict, "the key is revoked already", key.id.text());
    }
    if (operation.since && *operation.since > transaction_.now()) {
      return fail(ErrorCode::kConflict, "a revocation takes effect now: since lies in the future",
                  key.id.text());
    }
    key.revoked = revocation;
    ASSAY_TRY(transaction_.put_key(key));
    ++epochs_.trust.revocation;
    ASSAY_ASSIGN(const auto ended, remove_references_of(transaction_, key.id));
    Json summary = {{"op", "revoke-key"}, {"key_id", key.id.text()}, {"reason", operation.reason}};
    if (operation.since) {
      summary["since"] = to_rfc3339(*operation.since);
    }
    if (!ended.empty()) {
      summary["reference_values"] = ended;
    }
    return summary;
  }

  Result<Json> operator()(const PutPrincipal& operation) {
    ASSAY_TRY(transaction_.put_principal(operation.principal));
    Json roles = Json::array();
    for (const AccessRole role : operation.principal.roles) {
      roles.push_back(name(role));
    }
    return Json{
        {"op", "put-principal"}, {"name", operation.principal.name}, {"roles", std::move(roles)}};
  }

  Result<Json> operator()(const RemovePrincipal& operation) {
    ASSAY_TRY(transaction_.remove_principal(operation.name));
    return Json{{"op", "remove-principal"}, {"name", operation.name}};
  }

  Result<Json> operator()(const PutAppraisal& operation) {
    const Appraisal& appraisal = operation.appraisal;
    ASSAY_TRY(verifiers_.check(appraisal));
    ASSAY_TRY(transaction_.put_appraisal(appraisal));
    return appraisal_summary(appraisal);
  }

  Result<Json> operator()(const RevokeNode& operation) {
    ASSAY_ASSIGN(storage::NodeRow node, transaction_.node(operation.node));
    if (node.revoked) {
      return fail(ErrorCode::kConflict, "the node is revoked already", operation.node);
    }
    node.revoked = Revocation{transaction_.now(), operation.reason};
    ASSAY_TRY(transaction_.put_node(node));
    ++epochs_.trust.revocation;
    return Json{{"op", "revoke-node"},
                {"node", operation.node},
                {"key_id", node.key.text()},
                {"reason", operation.reason}};
  }

  Result<Json> operator()(const PutRegistration& operation) {
    const Registration& registration = operation.registration;
    ASSAY_TRY(check_registration(registration));
    ASSAY_ASSIGN(const auto known, transaction_.registrations());
    for (const Registration& before : known) {
      // The registration asks for more, or allows less, than before: its nodes have to enrol again.
      if (before.id == registration.id &&
          (before.service_account != registration.service_account ||
           before.nodes_per_platform > registration.nodes_per_platform)) {
        renewed_.insert(registration.id);
      }
    }
    registrations_moved_ = true;
    ASSAY_TRY(transaction_.put_registration(registration));
    return registration_summary(registration);
  }

  Result<Json> operator()(const RemoveRegistration& operation) {
    registrations_moved_ = true;
    renewed_.insert(operation.id);
    ASSAY_TRY(transaction_.remove_registration(operation.id));
    return Json{{"op", "remove-registration"}, {"id", operation.id}};
  }

  Result<Json> operator()(const WithdrawStatement& operation) {
    ASSAY_ASSIGN(const Withdrawn withdrawn,
                 put_withdrawal(transaction_, operation.withdrawal, operators_, true));
    ++epochs_.trust.revocation;
    return Json{{"op", "withdraw-statement"},
                {"statement", withdrawn.statement.text()},
                {"reason", withdrawn.reason},
                {"since", to_rfc3339(withdrawn.since)}};
  }

  Result<Json> operator()(const PutReferenceValues& operation) {
    return put_references(transaction_, operation, references_.at(&operation));
  }

  Result<Json> operator()(const RemoveReferenceValues& operation) {
    return remove_references(transaction_, operation);
  }

  Result<Json> operator()(const PutTrustedRoot& operation) {
    ASSAY_TRY(check_trusted_root(transaction_, operation));
    ASSAY_TRY(transaction_.put_trusted_root({operation, epochs_.trust.trust}));
    ASSAY_ASSIGN(const std::string text, canonical_json(operation.document));
    return Json{{"op", "put-trusted-root"},
                {"name", operation.name},
                {"document", sha256(as_bytes(text)).text()}};
  }

  // What follows from all operations together.
  Status settle() {
    return registrations_moved_ ? settle_registrations(transaction_, renewed_) : Status();
  }

 private:
  const attestation::VerifierRegistry& verifiers_;
  storage::Transaction& transaction_;
  storage::Epochs& epochs_;
  const std::vector<std::string>& operators_;
  const PreparedReferences& references_;
  bool registrations_moved_ = false;
  std::set<std::string> renewed_;
};

Result<Json> apply(const attestation::VerifierRegistry& verifiers,
                   storage::Transaction& transaction, const TrustChange& change,
                   const std::vector<std::string>& operators, const PreparedReferences& references,
                   storage::Epochs& epochs) {
  if (change.sequence != epochs.trust.trust + 1) {
    return fail(ErrorCode::kTrustSequence,
                "the change was made for trust epoch " + std::to_string(change.sequence) +
                    ", the next one is " + std::to_string(epochs.trust.trust + 1));
  }
  epochs.trust.trust = change.sequence;
  Json operations = Json::array();
  Applier applier(verifiers, transaction, epochs, operators, references);
  for (const TrustOperation& operation : change.operations) {
    ASSAY_ASSIGN(Json summary, std::visit(applier, operation));
    operations.push_back(std::move(summary));
  }
  ASSAY_TRY(applier.settle());
  ASSAY_TRY(transaction.set_epochs(epochs));
  ASSAY_TRY(check_still_governable(transaction, transaction.now()));
  return Json{{"by", operators},
              {"trust_epoch", epochs.trust.trust},
              {"revocation_epoch", epochs.trust.revocation},
              {"operations", std::move(operations)}};
}

// Ids of the keys, nodes and statements that change, by which the log finds the record.
std::vector<std::string> subjects_of(const TrustChange& change) {
  std::vector<std::string> subjects;
  for (const TrustOperation& operation : change.operations) {
    if (const auto* add = std::get_if<AddKey>(&operation)) {
      subjects.push_back(add->key.id.text());
    } else if (const auto* revoke = std::get_if<RevokeKey>(&operation)) {
      subjects.push_back(revoke->key.text());
    } else if (const auto* node = std::get_if<RevokeNode>(&operation)) {
      subjects.push_back("node:" + node->node);
    } else if (const auto* withdraw = std::get_if<WithdrawStatement>(&operation)) {
      subjects.push_back(withdraw->withdrawal.statement.text());
    }
  }
  return subjects;
}

Status apply_bootstrap(const attestation::VerifierRegistry& verifiers,
                       storage::Transaction& transaction, const Bootstrap& bootstrap,
                       ByteView document) {
  ASSAY_ASSIGN(const auto keys, transaction.keys());
  ASSAY_ASSIGN(const auto principals, transaction.principals());
  if (!keys.empty() || !principals.empty()) {
    return fail(ErrorCode::kConflict, "this service has been initialised already");
  }
  for (const PutTrustedRoot& root : bootstrap.trusted_roots) {
    ASSAY_TRY(check_trusted_root(transaction, root));
    ASSAY_TRY(transaction.put_trusted_root({root, 0}));
  }
  for (const TrustedKey& key : bootstrap.keys) {
    ASSAY_TRY(check_key(transaction, key));
    ASSAY_TRY(transaction.put_key(key));
  }
  for (const Principal& principal : bootstrap.principals) {
    ASSAY_TRY(transaction.put_principal(principal));
  }
  Json appraisals = Json::array();
  for (const Appraisal& appraisal : bootstrap.appraisals) {
    ASSAY_TRY(verifiers.check(appraisal));
    ASSAY_TRY(transaction.put_appraisal(appraisal));
    ASSAY_ASSIGN(Json summary, appraisal_summary(appraisal));
    summary.erase("op");
    appraisals.push_back(std::move(summary));
  }
  for (const Registration& registration : bootstrap.registrations) {
    ASSAY_TRY(check_registration(registration));
    ASSAY_TRY(transaction.put_registration(registration));
  }
  ASSAY_TRY(settle_registrations(transaction, {}));
  ASSAY_TRY(check_still_governable(transaction, transaction.now()));
  ASSAY_ASSIGN(const DocumentId id, transaction.put_document("application/json", document));
  LogRecord record{.type = std::string(event::kTrustBootstrapped),
                   .time = transaction.now(),
                   .actor = "system",
                   .subjects = {},
                   .documents = {id},
                   .detail = {{"keys", bootstrap.keys.size()},
                              {"principals", bootstrap.principals.size()},
                              {"appraisals", std::move(appraisals)},
                              {"registrations", bootstrap.registrations.size()}}};
  ASSAY_TRY(transaction.append(std::move(record)));
  return {};
}

}  // namespace

Result<TrustApplied> apply_trust_change(Services& services, ByteView envelope,
                                        const Principal& actor) {
  ASSAY_ASSIGN(const VerifiedEnvelope verified,
               verify_envelope(services, envelope, kTrustChangePayloadType));
  ASSAY_ASSIGN(const TrustChange change, parse_trust_change(verified.envelope.payload));
  const SigningContext context{KeyPurpose::kOperator, {}, {}, {}};
  ASSAY_ASSIGN(const auto counted,
               attestation::require_signers(verified.signatures, context, kTrustChangeThreshold,
                                            verified.now));
  const std::vector<std::string> operators = identities_of(counted);
  ASSAY_ASSIGN(const PreparedReferences references,
               prepare_references(services, change, verified.now));

  storage::Epochs epochs;
  std::optional<LeafIndex> index;  // absent: this very envelope was applied before
  const auto work = [&](storage::Transaction& transaction) -> Status {
    index.reset();
    ASSAY_ASSIGN(epochs, transaction.epochs());
    const DocumentId id(sha256(envelope));
    ASSAY_ASSIGN(const bool applied, transaction.has_document(id));
    if (applied) {
      return {};
    }
    ASSAY_TRY(require_same_trust(transaction, verified));
    ASSAY_ASSIGN(Json detail,
                 apply(services.verifiers, transaction, change, operators, references, epochs));
    ASSAY_TRY(transaction.put_document(kEnvelopeMediaType, envelope));
    ASSAY_ASSIGN(index, transaction.append({.type = std::string(event::kTrustChanged),
                                            .time = transaction.now(),
                                            .actor = actor.name,
                                            .subjects = subjects_of(change),
                                            .documents = {id},
                                            .detail = std::move(detail)}));
    return {};
  };
  ASSAY_TRY(write_change(services, work));
  evidence_moved(services);
  if (services.job_bell != nullptr) {
    services.job_bell->ring();  // the worker of a node that was revoked hears of it now
  }
  ASSAY_ASSIGN(const auto snapshot, services.store.snapshot());
  Json receipt;
  if (index) {
    ASSAY_ASSIGN(receipt, log_receipt(*snapshot, *index));
  }
  return TrustApplied{epochs, std::move(receipt)};
}

Status bootstrap(Services& services, ByteView document) {
  ASSAY_ASSIGN(const Bootstrap bootstrap, parse_bootstrap(document));
  const auto result = services.store.write([&](storage::Transaction& transaction) {
    return apply_bootstrap(services.verifiers, transaction, bootstrap, document);
  });
  if (!result) {
    return std::unexpected(result.error());
  }
  return {};
}

}  // namespace assay::server
