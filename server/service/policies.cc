// SPDX-License-Identifier: Apache-2.0
// Putting stored policies in force and out of it.
#include <algorithm>

#include "attestation/dsse.h"
#include "schemas/core/sha.h"
#include "schemas/log_record.h"
#include "schemas/policy_document.h"
#include "server/service/accept.h"
#include "server/service/receipt.h"
#include "server/service/store_statement.h"

namespace assay::server {
namespace {

struct StoredPolicy {
  storage::StatementRow row;
  PolicyDocument document;
  Bytes payload;
  std::vector<std::string> authors;  // identities whose author keys count now
};

// Identities among the policy's signers whose keys still count as authors.
Result<std::vector<std::string>> current_authors(storage::Snapshot& snapshot,
                                                 const storage::StatementRow& row, Timestamp now) {
  std::vector<std::string> authors;
  const SigningContext context{KeyPurpose::kAuthor, {}, {}, {}};
  for (const storage::SignerRow& signer : row.signers) {
    ASSAY_ASSIGN(const TrustedKey key, snapshot.key(signer.key));
    if (check_grant(key, context, signer.signed_at, now)) {
      authors.push_back(key.identity);
    }
  }
  if (authors.empty()) {
    return fail(ErrorCode::kUntrustedSigner, "no author key of this policy counts any more");
  }
  return authors;
}

Result<StoredPolicy> load_policy(storage::Snapshot& snapshot, const StatementId& id,
                                 Timestamp now) {
  ASSAY_ASSIGN(storage::StatementRow row, snapshot.statement(id));
  if (row.kind != storage::StatementKind::kPolicy) {
    return fail(ErrorCode::kNotFound, "there is no policy with this id");
  }
  ASSAY_ASSIGN(auto authors, current_authors(snapshot, row, now));
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

Status require_in_force(storage::Snapshot& snapshot, const StatementId& policy) {
  ASSAY_ASSIGN(const auto active, snapshot.active_policies());
  for (const storage::ActivePolicyRow& row : active) {
    if (row.id == policy) {
      return {};
    }
  }
  return fail(ErrorCode::kConflict, "this policy version is not in force");
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

}  // namespace

Result<PolicyInForce> apply_policy_approval(Services& services, PolicyApproval::Action action,
                                            const StatementId& policy, ByteView envelope,
                                            const Principal& actor) {
  ASSAY_ASSIGN(const VerifiedEnvelope verified,
               verify_envelope(services, envelope, kPolicyApprovalPayloadType));
  ASSAY_ASSIGN(const PolicyApproval approval, checked_approval(verified, action, policy));
  ASSAY_ASSIGN(const auto before, services.store.snapshot());
  ASSAY_ASSIGN(const StoredPolicy stored, load_policy(*before, policy, verified.now));
  ASSAY_TRY(require_other_approver(verified, stored.authors));

  std::optional<LeafIndex> index;  // absent: this very envelope was applied before
  const auto work = [&](storage::Transaction& transaction) -> Status {
    index.reset();
    ASSAY_TRY(require_same_trust(transaction, verified));
    const DocumentId id(sha256(envelope));
    if (transaction.document(id)) {
      return {};
    }
    ASSAY_TRY(apply(transaction, stored, approval));
    ASSAY_TRY(transaction.put_document(kEnvelopeMediaType, envelope));
    ASSAY_ASSIGN(
        index, transaction.append(approval_record(stored, approval, id, actor, transaction.now())));
    return {};
  };
  ASSAY_TRY(services.store.write(work));
  ASSAY_ASSIGN(const auto after, services.store.snapshot());
  Json receipt;
  if (index) {
    ASSAY_ASSIGN(receipt, log_receipt(*after, *index));
  }
  return PolicyInForce{stored.document.name, stored.document.version, policy, approval.sequence,
                       std::move(receipt)};
}

}  // namespace assay::server
