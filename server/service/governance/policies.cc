// SPDX-License-Identifier: Apache-2.0
#include "server/service/governance/policies.h"

#include <algorithm>
#include <set>

#include "attestation/dsse.h"
#include "schemas/core/json_at.h"
#include "schemas/core/sha.h"
#include "schemas/log_record.h"
#include "schemas/policy_document.h"
#include "server/service/documents/receipt.h"
#include "server/service/documents/statement_row.h"
#include "server/service/documents/store_statement.h"
#include "server/service/reference_sets.h"
#include "server/service/write_change.h"

namespace assay::server {
namespace {

const SigningContext kAuthors{KeyPurpose::kAuthor, {}, {}, {}};

// Identities of authors of versions that were in force. Only those who signed when the version
// came: anybody may add a signature to what the authors signed.
Status add_owners(storage::Snapshot& snapshot, const storage::StatementRow& row,
                  std::set<std::string>& owners) {
  ASSAY_ASSIGN(const auto activation, last_activation(snapshot, row.id));
  if (!activation) {
    return {};
  }
  for (const storage::SignerRow& signer : row.signers) {
    ASSAY_ASSIGN(const TrustedKey key, snapshot.key(signer.key));
    if (key.purpose == KeyPurpose::kAuthor && signer.log_index == row.log_index) {
      owners.insert(key.identity);
    }
  }
  return {};
}

// Once a version was in force, the name belongs to its authors: any other author could take the
// next version numbers, so that theirs do not follow each other. They hand it on by signing a
// version of somebody else too, and when no key of theirs counts any more, it is free.
Status require_own_name(storage::Snapshot& snapshot, const VerifiedEnvelope& verified,
                        const std::set<std::string>& owners) {
  const auto counts = [&](const TrustedKey& key) {
    return owners.contains(key.identity) && check_grant(key, kAuthors, verified.now, verified.now);
  };
  if (owners.empty() ||
      std::ranges::any_of(verified.signatures, counts, &attestation::VerifiedSignature::key)) {
    return {};
  }
  ASSAY_ASSIGN(const auto keys, snapshot.keys());
  return std::ranges::any_of(keys, counts)
             ? fail(ErrorCode::kRoleNotGranted,
                    "the name belongs to the authors of its versions that were in force; have one "
                    "of them sign too")
             : Status();
}

// Checks that name and version are free for this policy.
Status require_place(storage::Snapshot& snapshot, const VerifiedEnvelope& verified,
                     const storage::StatementRow& policy) {
  std::set<std::string> owners;
  ASSAY_ASSIGN(const auto indexes, snapshot.policies_under(policy.name));
  for (const LeafIndex index : indexes) {
    ASSAY_ASSIGN(const storage::StatementRow row, snapshot.statement_at(index));
    if (row.version == policy.version && row.id != verified.id) {
      return fail(ErrorCode::kConflict, "version " + std::to_string(policy.version) +
                                            " of this policy exists with other content; policies "
                                            "are immutable, use the next version");
    }
    ASSAY_TRY(add_owners(snapshot, row, owners));
  }
  return require_own_name(snapshot, verified, owners);
}

struct StoredPolicy {
  storage::StatementRow row;  // of a policy or a reference set
  std::string_view mode;      // of a policy; empty for a reference set
  Bytes payload;
  std::vector<std::string> authors;  // identities that signed it with author keys
};

struct ReadPolicy {
  storage::StatementRow row;
  std::string_view mode;
};

Result<ReadPolicy> read_policy(const attestation::Envelope& envelope) {
  if (envelope.payload_type == kReferenceSetPayloadType) {
    ASSAY_ASSIGN(const ReferenceSet set, parse_reference_set(envelope.payload));
    return ReadPolicy{reference_set_row(envelope, set), {}};
  }
  ASSAY_ASSIGN(const PolicyDocument policy, parse_policy(envelope.payload));
  return ReadPolicy{policy_row(envelope, policy), name(policy.mode)};
}

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
  ASSAY_ASSIGN(const ReadPolicy read, read_policy(envelope));
  return StoredPolicy{std::move(row), read.mode, std::move(envelope.payload), std::move(authors)};
}

// Four eyes: signatures by the policy's own authors do not count as approval.
// Returns the identities that approve, ascending.
Result<std::set<std::string>> other_approvers(const VerifiedEnvelope& verified,
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
  ASSAY_ASSIGN(
      const auto counted,
      attestation::require_signers(others, {KeyPurpose::kApprover, {}, {}, {}}, 1, verified.now));
  std::set<std::string> identities;
  for (const auto& signature : counted) {
    identities.insert(signature.key.identity);
  }
  return identities;
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
                          const std::set<std::string>& approvers, const DocumentId& document,
                          const Principal& actor, Timestamp now) {
  const bool activate = approval.action == PolicyApproval::Action::kActivate;
  Json detail = {{"by", approvers},
                 {"name", policy.row.name},
                 {"version", policy.row.version},
                 {"policy_epoch", approval.sequence}};
  if (!policy.mode.empty()) {
    detail["mode"] = policy.mode;
  }
  return {.type = std::string(activate ? event::kPolicyActivated : event::kPolicyDeactivated),
          .time = now,
          .actor = actor.name,
          .subjects = {policy.row.id.text()},
          .documents = {document},
          .detail = std::move(detail)};
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
  const bool activate = approval.action == PolicyApproval::Action::kActivate;
  if (!activate) {
    ASSAY_TRY(require_in_force(transaction, policy.row.id));
  }
  const storage::ActivePolicyRow row{policy.row.id, policy.row.name, policy.row.version,
                                     policy.payload};
  ASSAY_ASSIGN(const auto in_force, transaction.active_policies());
  ASSAY_TRY(check_sets(in_force, {row, activate}));
  return activate ? transaction.activate_policy(row) : transaction.deactivate_policy(row.name);
}

// The policy that an approval is about, when its signers may approve that; and who these are.
Result<StoredPolicy> approved_policy(storage::Snapshot& snapshot, const VerifiedEnvelope& verified,
                                     const PolicyApproval& approval,
                                     std::set<std::string>& approvers) {
  ASSAY_ASSIGN(StoredPolicy stored, load_policy(snapshot, approval.policy));
  if (approval.action == PolicyApproval::Action::kActivate) {
    ASSAY_TRY(require_author(snapshot, stored.row, verified.now));
  }
  ASSAY_ASSIGN(approvers, other_approvers(verified, stored.authors));
  return stored;
}

}  // namespace

Result<std::optional<Activation>> last_activation(storage::Snapshot& snapshot,
                                                  const StatementId& policy) {
  storage::EventQuery query;
  query.type = event::kPolicyActivated;
  query.subject = policy.text();
  query.bounds.limit = 1000;
  std::optional<Activation> last;
  do {
    ASSAY_ASSIGN(const auto page, snapshot.events(query));
    if (!page.items.empty()) {
      const LogRecord& record = page.items.back().record;
      const auto epoch = record.detail.find("policy_epoch");
      if (epoch == record.detail.end() || !epoch->is_number_unsigned()) {
        return fail(ErrorCode::kDataLoss, "the record of an activation cannot be read");
      }
      last = Activation{epoch->get<std::uint64_t>(), record.time, {}};
      for (const Json& one : array_at(record.detail, "by")) {
        last->by.push_back(one.is_string() ? one.get<std::string>() : std::string());
      }
    }
    query.bounds.after = page.next;
  } while (query.bounds.after);
  return last;
}

Result<Accepted> accept_policy(Services& services, ByteView envelope, const Principal& actor) {
  ASSAY_ASSIGN(const attestation::Envelope parsed, attestation::parse_envelope(envelope));
  const bool is_set = parsed.payload_type == kReferenceSetPayloadType;
  ASSAY_ASSIGN(
      const VerifiedEnvelope verified,
      verify_envelope(services, envelope, is_set ? kReferenceSetPayloadType : kPolicyPayloadType));
  ASSAY_ASSIGN(const ReadPolicy read, read_policy(verified.envelope));
  const SigningContext context{KeyPurpose::kAuthor, {}, {}, {}};
  ASSAY_TRY(attestation::require_signers(verified.signatures, context, 1, verified.now));

  const storage::StatementRow& row = read.row;
  std::set<std::string> by;
  for (const auto& signature : verified.signatures) {
    by.insert(signature.key.identity);
  }
  return store_statement(
      services, verified, envelope,
      {row, event::kPolicyAccepted, Json{{"by", by}, {"name", row.name}, {"version", row.version}},
       [&](storage::Transaction& transaction) {
         return require_place(transaction, verified, row);
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
  std::set<std::string> approvers;
  ASSAY_ASSIGN(const StoredPolicy stored,
               approved_policy(*snapshot, verified, approval, approvers));
  snapshot.reset();

  std::optional<LeafIndex> index;  // absent: this very envelope was applied before
  const auto work = [&](storage::Transaction& transaction) -> Status {
    index.reset();
    ASSAY_TRY(require_same_trust(transaction, verified));
    const DocumentId id(sha256(envelope));
    ASSAY_ASSIGN(const bool applied, transaction.has_document(id));
    if (applied) {
      return require_still_true(transaction, approval);
    }
    ASSAY_TRY(apply(transaction, stored, approval));
    ASSAY_TRY(transaction.put_document(kEnvelopeMediaType, envelope));
    ASSAY_ASSIGN(index, transaction.append(approval_record(stored, approval, approvers, id, actor,
                                                           transaction.now())));
    return {};
  };
  ASSAY_TRY(write_change(services, work));
  Json receipt;
  if (index) {
    ASSAY_ASSIGN(snapshot, services.store.snapshot());
    ASSAY_ASSIGN(receipt, log_receipt(*snapshot, *index));
  }
  return PolicyInForce{stored.row.name, stored.row.version, policy, approval.sequence,
                       std::move(receipt)};
}

}  // namespace assay::server
