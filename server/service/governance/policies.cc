// SPDX-License-Identifier: Apache-2.0
#include "server/service/governance/policies.h"

#include <algorithm>

#include "attestation/dsse.h"
#include "schemas/core/sha.h"
#include "schemas/log_record.h"
#include "schemas/policy_document.h"
#include "server/service/documents/receipt.h"
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

struct StoredPolicy {
  storage::StatementRow row;
  PolicyDocument document;
  Bytes payload;
  std::vector<std::string> authors;  // identities that signed it with author keys
};

// A policy comes into force only while somebody answers for it; it goes out of force without that,
// because a stolen author key is a reason to take its policies out.
Status require_author(storage::Snapshot& snapshot, const storage::StatementRow& row,
                      Timestamp now) {
  const SigningContext context{KeyPurpose::kAuthor, {}, {}, {}};
  for (const storage::SignerRow& signer : row.signers) {
    ASSAY_ASSIGN(const TrustedKey key, snapshot.key(signer.key));
    if (check_grant(key, context, signer.signed_at, now)) {
      return {};
    }
  }
  return fail(ErrorCode::kUntrustedSigner, "no author key of this policy counts any more");
}

Result<std::vector<std::string>> authors_of(storage::Snapshot& snapshot,
                                            const storage::StatementRow& row) {
  std::vector<std::string> authors;
  for (const storage::SignerRow& signer : row.signers) {
    ASSAY_ASSIGN(const TrustedKey key, snapshot.key(signer.key));
    if (key.purpose == KeyPurpose::kAuthor) {
      authors.push_back(key.identity);
    }
  }
  return authors;
}

Result<StoredPolicy> load_policy(storage::Snapshot& snapshot, const StatementId& id) {
  ASSAY_ASSIGN(storage::StatementRow row, snapshot.statement(id));
  if (row.kind != storage::StatementKind::kPolicy) {
    return fail(ErrorCode::kNotFound, "there is no policy with this id");
  }
  ASSAY_ASSIGN(auto authors, authors_of(snapshot, row));
  ASSAY_ASSIGN(const storage::Document stored, snapshot.document(row.envelopes.front()));
  ASSAY_ASSIGN(attestation::Envelope envelope, attestation::parse_envelope(stored.bytes));
  ASSAY_ASSIGN(PolicyDocument document, parse_policy(envelope.payload));
  return StoredPolicy{std::move(row), std::move(document), std::move(envelope.payload),
                      std::move(authors)};
}

// Four eyes: signatures by the policy's own authors do not count as approval.
Status require_other_approver(const VerifiedEnvelope& verified,
                              const std::vector<std::string>& authors) {
  std::vector<attestation::VerifiedSignature> others;
  for (const auto& signature : verified.signatures) {
    if (std::find(authors.begin(), authors.end(), signature.key.identity) == authors.end()) {
      others.push_back(signature);
    }
  }
  if (others.empty() && !verified.signatures.empty()) {
    return fail(ErrorCode::kThresholdNotMet,
                "the approver must be somebody else than the policy's author");
  }
  ASSAY_TRY(
      attestation::require_signers(others, {KeyPurpose::kApprover, {}, {}, {}}, 1, verified.now));
  return {};
}

Result<PolicyApproval> checked_approval(const VerifiedEnvelope& verified,
                                        PolicyApproval::Action action, const StatementId& policy) {
  ASSAY_ASSIGN(PolicyApproval approval, parse_policy_approval(verified.envelope.payload));
  if (approval.action != action || approval.policy != policy) {
    return fail(ErrorCode::kSubjectMismatch, "the approval is for another policy or action");
  }
  return approval;
}

LogRecord approval_record(const StoredPolicy& policy, const PolicyApproval& approval,
                          const DocumentId& document, const Principal& actor, Timestamp now) {
  const bool activate = approval.action == PolicyApproval::Action::kActivate;
  return {.type = std::string(activate ? event::kPolicyActivated : event::kPolicyDeactivated),
          .time = now,
          .actor = actor.name,
          .subjects = {policy.row.id.text()},
          .documents = {document},
          .detail = {{"name", policy.document.name},
                     {"version", policy.document.version},
                     {"mode", name(policy.document.mode)},
                     {"policy_epoch", approval.sequence}}};
}

Result<bool> is_in_force(storage::Snapshot& snapshot, const StatementId& policy) {
  ASSAY_ASSIGN(const auto active, snapshot.active_policies());
  return std::any_of(active.begin(), active.end(),
                     [&policy](const auto& row) { return row.id == policy; });
}

Status require_in_force(storage::Snapshot& snapshot, const StatementId& policy) {
  ASSAY_ASSIGN(const bool in_force, is_in_force(snapshot, policy));
  return in_force ? Status() : fail(ErrorCode::kConflict, "this policy version is not in force");
}

// An envelope that was applied before is answered as the first time, while that answer is true.
Status require_still_true(storage::Snapshot& snapshot, const PolicyApproval& approval) {
  ASSAY_ASSIGN(const bool in_force, is_in_force(snapshot, approval.policy));
  return in_force == (approval.action == PolicyApproval::Action::kActivate)
             ? Status()
             : fail(ErrorCode::kTrustSequence,
                    "this approval was applied before, and a later one replaced it");
}

Status apply(storage::Transaction& transaction, const StoredPolicy& policy,
             const PolicyApproval& approval) {
  ASSAY_ASSIGN(storage::Epochs epochs, transaction.epochs());
  if (approval.sequence != epochs.policy + 1) {
    return fail(ErrorCode::kTrustSequence,
                "the approval was made for policy epoch " + std::to_string(approval.sequence) +
                    ", the next one is " + std::to_string(epochs.policy + 1));
  }
  epochs.policy = approval.sequence;
  ASSAY_TRY(transaction.set_epochs(epochs));
  if (approval.action == PolicyApproval::Action::kDeactivate) {
    ASSAY_TRY(require_in_force(transaction, policy.row.id));
    return transaction.deactivate_policy(policy.document.name);
  }
  return transaction.activate_policy(
      {policy.row.id, policy.document.name, policy.document.version, policy.payload});
}

// The policy that an approval is about, when its signers may approve that.
Result<StoredPolicy> approved_policy(storage::Snapshot& snapshot, const VerifiedEnvelope& verified,
                                     const PolicyApproval& approval) {
  ASSAY_ASSIGN(StoredPolicy stored, load_policy(snapshot, approval.policy));
  if (approval.action == PolicyApproval::Action::kActivate) {
    ASSAY_TRY(require_author(snapshot, stored.row, verified.now));
  }
  ASSAY_TRY(require_other_approver(verified, stored.authors));
  return stored;
}

}  // namespace

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

Result<PolicyInForce> apply_policy_approval(Services& services, PolicyApproval::Action action,
                                            const StatementId& policy, ByteView envelope,
                                            const Principal& actor) {
  const Timestamp now = services.clock.now();
  ASSAY_ASSIGN(auto snapshot, services.store.snapshot());
  ASSAY_ASSIGN(const VerifiedEnvelope verified,
               verify_envelope(*snapshot, envelope, kPolicyApprovalPayloadType, now));
  ASSAY_ASSIGN(const PolicyApproval approval, checked_approval(verified, action, policy));
  ASSAY_ASSIGN(const StoredPolicy stored, approved_policy(*snapshot, verified, approval));
  snapshot.reset();

  std::optional<LeafIndex> index;  // absent: this very envelope was applied before
  const auto work = [&](storage::Transaction& transaction) -> Status {
    index.reset();
    ASSAY_TRY(require_same_trust(transaction, verified));
    const DocumentId id(sha256(envelope));
    if (transaction.document(id)) {
      return require_still_true(transaction, approval);
    }
    ASSAY_TRY(apply(transaction, stored, approval));
    ASSAY_TRY(transaction.put_document(kEnvelopeMediaType, envelope));
    ASSAY_ASSIGN(
        index, transaction.append(approval_record(stored, approval, id, actor, transaction.now())));
    return {};
  };
  ASSAY_TRY(services.store.write(work));
  Json receipt;
  if (index) {
    ASSAY_ASSIGN(snapshot, services.store.snapshot());
    ASSAY_ASSIGN(receipt, log_receipt(*snapshot, *index));
  }
  return PolicyInForce{stored.document.name, stored.document.version, policy, approval.sequence,
                       std::move(receipt)};
}

}  // namespace assay::server
