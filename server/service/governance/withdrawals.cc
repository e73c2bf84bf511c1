// SPDX-License-Identifier: Apache-2.0
#include "server/service/governance/withdrawals.h"

#include <algorithm>
#include <set>

#include "attestation/dsse.h"
#include "schemas/core/sha.h"
#include "schemas/log_record.h"
#include "schemas/placement.h"
#include "schemas/release.h"
#include "server/service/documents/receipt.h"
#include "server/service/documents/store_statement.h"
#include "server/service/write_change.h"

namespace assay::server {
namespace {

using Signatures = std::vector<attestation::VerifiedSignature>;

// What a signature on the statement approves: one context for each name that it is about.
Result<std::vector<SigningContext>> contexts_of(storage::Snapshot& snapshot,
                                                const storage::StatementRow& row) {
  const bool publisher = row.kind == storage::StatementKind::kManifest ||
                         row.predicate_type == kPlacementPredicateType ||
                         row.predicate_type == kReleasePredicateType;
  if (publisher) {
    return std::vector{SigningContext{KeyPurpose::kPublisher, {}, row.predicate_type, row.name}};
  }
  ASSAY_ASSIGN(const storage::Document document, snapshot.document(row.envelopes.front()));
  ASSAY_ASSIGN(const attestation::Envelope envelope, attestation::parse_envelope(document.bytes));
  ASSAY_ASSIGN(const Statement statement, parse_statement(envelope.payload));
  std::set<std::string> names;
  for (const Subject& subject : statement.subjects) {
    names.insert(subject.name);
  }
  std::vector<SigningContext> contexts;
  for (const std::string& name : names) {
    contexts.push_back({KeyPurpose::kSigner, row.stage, row.predicate_type, name});
  }
  return contexts;
}

// Whether the key could sign such a statement when it did. That it was revoked since then does not
// matter: its holder may withdraw what it signed, with another key.
bool could_sign(const TrustedKey& key, const std::vector<SigningContext>& contexts,
                Timestamp signed_at) {
  return std::all_of(contexts.begin(), contexts.end(), [&](const SigningContext& context) {
    const Status grant = check_grant(key, context, signed_at, signed_at);
    return grant || grant.error().code == ErrorCode::kKeyRevoked;
  });
}

// Identities whose signatures on the statement counted.
Result<std::set<std::string>> signers_of(storage::Snapshot& snapshot,
                                         const storage::StatementRow& row,
                                         const std::vector<SigningContext>& contexts) {
  std::set<std::string> signers;
  for (const storage::SignerRow& signer : row.signers) {
    ASSAY_ASSIGN(const TrustedKey key, snapshot.key(signer.key));
    if (could_sign(key, contexts, signer.signed_at)) {
      signers.insert(key.identity);
    }
  }
  return signers;
}

// The signers who withdraw the statement, ascending; at least one.
Result<std::vector<std::string>> withdrawing(storage::Snapshot& snapshot,
                                             const VerifiedEnvelope& verified,
                                             const storage::StatementRow& row) {
  ASSAY_ASSIGN(const auto contexts, contexts_of(snapshot, row));
  ASSAY_ASSIGN(const auto signers, signers_of(snapshot, row, contexts));
  Signatures signatures = verified.signatures;
  std::erase_if(signatures, [&](const auto& one) { return !signers.contains(one.key.identity); });
  if (signatures.empty()) {
    return fail(ErrorCode::kRoleNotGranted,
                "only who signed the statement withdraws it; two operators can do so by a change "
                "of trust");
  }
  for (const SigningContext& context : contexts) {
    ASSAY_ASSIGN(signatures, attestation::require_signers(signatures, context, 1, verified.now));
  }
  std::set<std::string> by;
  for (const auto& signature : signatures) {
    by.insert(signature.key.identity);
  }
  return std::vector<std::string>(by.begin(), by.end());
}

Status require_room(storage::Transaction& transaction, const std::vector<std::string>& by) {
  ASSAY_ASSIGN(const auto all, transaction.withdrawals());
  for (const std::string& identity : by) {
    const auto count = std::count_if(all.begin(), all.end(), [&](const Withdrawn& one) {
      return !one.by_operators && std::binary_search(one.by.begin(), one.by.end(), identity);
    });
    if (static_cast<std::size_t>(count) >= kMaxWithdrawalsPerSigner) {
      return fail(ErrorCode::kSignerLimitExceeded,
                  identity + " has withdrawn as many statements as one signer may");
    }
  }
  return {};
}

// The statement, and the artifacts that it is about.
std::vector<std::string> subjects_of(const storage::StatementRow& row) {
  std::vector<std::string> subjects = {row.id.text()};
  for (const std::string& subject : row.subjects) {
    if (ArtifactId::parse(subject)) {
      subjects.push_back(subject);
    }
  }
  return subjects;
}

// What this withdrawal says, whoever withdrew the statement before.
Result<LeafIndex> record(storage::Transaction& transaction, const storage::StatementRow& row,
                         const Withdrawal& withdrawal, const std::vector<std::string>& by,
                         const DocumentId& document, const Principal& actor) {
  ASSAY_ASSIGN(storage::Epochs epochs, transaction.epochs());
  ++epochs.trust.revocation;
  ASSAY_TRY(transaction.set_epochs(epochs));
  const Timestamp now = transaction.now();
  return transaction.append({.type = std::string(event::kStatementWithdrawn),
                             .time = now,
                             .actor = actor.name,
                             .subjects = subjects_of(row),
                             .documents = {document},
                             .detail = {{"statement", withdrawal.statement.text()},
                                        {"reason", withdrawal.reason},
                                        {"since", to_rfc3339(withdrawal.since.value_or(now))},
                                        {"by", by},
                                        {"revocation_epoch", epochs.trust.revocation}}});
}

// Nobody's withdrawal takes the words from another one's or makes its time later: whoever may sign
// such statements may add a signature to this one and withdraw that. The log has the words of all.
void add_before(const Withdrawn& before, Withdrawn& withdrawn) {
  withdrawn.since = std::min(withdrawn.since, before.since);
  if (withdrawn.by_operators || before.by_operators) {
    return;  // operators speak for everybody
  }
  std::set<std::string> all(withdrawn.by.begin(), withdrawn.by.end());
  all.insert(before.by.begin(), before.by.end());
  withdrawn.by = {all.begin(), all.end()};
  withdrawn.reason = before.reason;
  withdrawn.text = before.text;
}

}  // namespace

Result<Withdrawn> put_withdrawal(storage::Transaction& transaction, const Withdrawal& withdrawal,
                                 const std::vector<std::string>& by, bool by_operators) {
  ASSAY_ASSIGN(const storage::StatementRow row, transaction.statement(withdrawal.statement));
  if (row.kind == storage::StatementKind::kPolicy) {
    return fail(ErrorCode::kPredicateTypeUnknown,
                "a policy is not withdrawn: take it out of force by an approval", "/statement");
  }
  ASSAY_ASSIGN(const auto before, transaction.withdrawal(withdrawal.statement));
  const Timestamp now = transaction.now();
  if (withdrawal.since && *withdrawal.since > now) {
    return fail(ErrorCode::kInvalidParameter, "a withdrawal cannot begin in the future", "/since");
  }
  Withdrawn withdrawn{withdrawal.statement,
                      withdrawal.reason,
                      withdrawal.text,
                      withdrawal.since.value_or(now),
                      now,
                      by,
                      by_operators};
  if (before) {
    add_before(*before, withdrawn);
  }
  ASSAY_TRY(transaction.put_withdrawal(withdrawn));
  return withdrawn;
}

Result<WithdrawalAccepted> accept_withdrawal(Services& services, ByteView envelope,
                                             const Principal& actor) {
  ASSAY_ASSIGN(const VerifiedEnvelope verified,
               verify_envelope(services, envelope, kWithdrawalPayloadType));
  ASSAY_ASSIGN(const Withdrawal withdrawal, parse_withdrawal(verified.envelope.payload));
  std::optional<Withdrawn> withdrawn;
  std::optional<LeafIndex> index;  // absent: this very envelope was accepted before
  const auto work = [&](storage::Transaction& transaction) -> Status {
    index.reset();
    ASSAY_ASSIGN(withdrawn, transaction.withdrawal(withdrawal.statement));
    ASSAY_ASSIGN(const bool known, transaction.has_document(DocumentId(sha256(envelope))));
    if (withdrawn && known) {
      return {};
    }
    ASSAY_TRY(require_same_trust(transaction, verified));
    ASSAY_ASSIGN(const auto row, transaction.statement(withdrawal.statement));
    ASSAY_ASSIGN(const auto by, withdrawing(transaction, verified, row));
    ASSAY_TRY(require_room(transaction, by));
    ASSAY_ASSIGN(withdrawn, put_withdrawal(transaction, withdrawal, by, false));
    ASSAY_ASSIGN(const DocumentId document, transaction.put_document(kEnvelopeMediaType, envelope));
    ASSAY_ASSIGN(index, record(transaction, row, withdrawal, by, document, actor));
    return {};
  };
  ASSAY_TRY(write_change(services, work));
  WithdrawalAccepted accepted{*std::move(withdrawn), index.has_value(), nullptr};
  if (index) {
    ASSAY_ASSIGN(const auto snapshot, services.store.snapshot());
    ASSAY_ASSIGN(accepted.receipt, log_receipt(*snapshot, *index));
  }
  return accepted;
}

}  // namespace assay::server
