// SPDX-License-Identifier: Apache-2.0
// Forwarding of the writing half of the store interface to the tables.
#include "storage/sqlite/transaction.h"

#include "schemas/log_chain.h"
#include "storage/sqlite/decision_tables.h"
#include "storage/sqlite/documents.h"
#include "storage/sqlite/evidence_tables.h"
#include "storage/sqlite/governance_tables.h"
#include "storage/sqlite/job_tables.h"
#include "storage/sqlite/node_tables.h"
#include "storage/sqlite/pod_tables.h"
#include "storage/sqlite/report_tables.h"
#include "storage/sqlite/statement_tables.h"

namespace assay::storage::sqlite {

Result<LogState> SqliteTransaction::log_state() {
  const LogFrontier& frontier = tail_.frontier;
  return frontier.size() == committed_.size ? committed_
                                            : LogState{frontier.size(), frontier.root(), {}};
}

Result<DocumentId> SqliteTransaction::put_document(std::string_view media_type, ByteView bytes) {
  return sqlite::put_document(connection(), media_type, bytes);
}

Result<std::shared_ptr<const Governance>> SqliteTransaction::finish() {
  if (changed_ && unrecorded_) {
    if (changed_->head()) {
      return fail(ErrorCode::kInternal, "a change of trust or policy has no record in the log");
    }
    ASSAY_ASSIGN(const GovernanceDocuments documents, changed_->documents());
    ASSAY_TRY(store_governance(connection(), documents, std::nullopt));
  }
  return changed_ ? std::shared_ptr<const Governance>(changed_) : governance_;
}

Governance& SqliteTransaction::change() {
  if (!changed_) {
    changed_ = std::make_shared<Governance>(*governance_);
  }
  unrecorded_ = true;
  return *changed_;
}

// The next record of the chain of trust and policy.
Result<LeafIndex> SqliteTransaction::append_link(LogRecord record) {
  ASSAY_ASSIGN(const GovernanceDocuments documents, governance().documents());
  ASSAY_TRY(store_governance(connection(), documents, governance().head()));
  GovernanceDigests digests = digests_of(documents);
  record.detail["chain"] = link_to_json(digests, governance().head());
  ASSAY_ASSIGN(const LeafIndex index, append_record(connection(), tail_, record));
  ASSAY_ASSIGN(Digest leaf, load_node(connection(), 0, index));
  change().set_head({index, std::move(leaf), std::move(digests)});
  unrecorded_ = false;
  return index;
}

Result<LeafIndex> SqliteTransaction::append(LogRecord record) {
  record.time = now_;
  if (is_chained(record.type)) {
    return append_link(std::move(record));
  }
  if (const auto& head = governance().head(); head && record.type == event::kDecisionMade) {
    record.detail["chain"] = {{"newest", {{"index", head->index}, {"leaf", head->leaf.text()}}}};
  }
  return append_record(connection(), tail_, record);
}

Status SqliteTransaction::put_statement(const StatementRow& row) {
  return sqlite::put_statement(connection(), governance(), row, tail_.frontier.size());
}

Status SqliteTransaction::add_envelope(const StatementId& id, const DocumentId& envelope,
                                       const std::vector<AddedSignature>& signers,
                                       LeafIndex record) {
  std::vector<SignerRow> rows;
  rows.reserve(signers.size());
  for (const AddedSignature& signer : signers) {
    rows.push_back({signer.key, now_, record, signer.certificate});
  }
  if (record >= tail_.frontier.size()) {
    return fail(ErrorCode::kInvalidParameter, "the log has no record with this index");
  }
  return sqlite::add_envelope(connection(), governance(), id, envelope, rows);
}

Status SqliteTransaction::put_trusted_root(const TrustedRootRow& root) {
  change().put_trusted_root(root);
  return {};
}

Status SqliteTransaction::put_key(const TrustedKey& key) { return change().put_key(key); }

Status SqliteTransaction::put_principal(const Principal& principal) {
  return change().put_principal(principal);
}

Status SqliteTransaction::remove_principal(const std::string& name) {
  return change().remove_principal(name);
}

Status SqliteTransaction::put_withdrawal(const Withdrawn& withdrawn) {
  ASSAY_TRY(statement(withdrawn.statement));
  return change().put_withdrawal(withdrawn);
}

Status SqliteTransaction::set_epochs(const Epochs& epochs) { return change().set_epochs(epochs); }

Status SqliteTransaction::activate_policy(const ActivePolicyRow& policy) {
  return change().activate_policy(policy);
}

Status SqliteTransaction::deactivate_policy(const std::string& name) {
  return change().deactivate_policy(name);
}

Status SqliteTransaction::put_decision(const DecisionRow& row) {
  return sqlite::put_decision(connection(), row, tail_.frontier.size());
}

Status SqliteTransaction::put_challenge(const ChallengeRow& row) {
  return sqlite::put_challenge(connection(), row, now_);
}

Result<ChallengeRow> SqliteTransaction::consume_challenge(ByteView nonce) {
  return sqlite::consume_challenge(connection(), nonce, now_);
}

Status SqliteTransaction::put_node(const NodeRow& row) {
  const auto revoked = governance().revocation_of(row.name);
  if (revoked && revoked != row.revoked) {
    return fail(ErrorCode::kConflict, "a revoked node stays revoked", row.name);
  }
  ASSAY_TRY(sqlite::put_node(connection(), row, tail_.frontier.size()));
  if (row.revoked && !revoked) {
    change().revoke_node(row.name, *row.revoked);
  }
  return {};
}

Status SqliteTransaction::put_job(const JobRow& row) {
  return sqlite::put_job(connection(), row, tail_.frontier.size());
}

Status SqliteTransaction::put_outline(const ArtifactId& artifact, const DocumentId& document) {
  return sqlite::put_outline(connection(), artifact, document);
}

Status SqliteTransaction::put_pod(const PodRow& row) {
  return sqlite::put_pod(connection(), row, now_);
}

Status SqliteTransaction::remove_pod(const std::string& cluster, const std::string& uid) {
  return sqlite::remove_pod(connection(), cluster, uid);
}

Status SqliteTransaction::put_claim(const ClaimRow& row) {
  return sqlite::put_claim(connection(), row, now_);
}

Status SqliteTransaction::remove_claim(const std::string& cluster, const std::string& name_space,
                                       const std::string& name, const std::string& uid) {
  return sqlite::remove_claim(connection(), cluster, name_space, name, uid);
}

Status SqliteTransaction::put_appraisal(const Appraisal& appraisal) {
  ASSAY_TRY(change().put_appraisal(appraisal));
  return raise_generation(connection());
}

Status SqliteTransaction::put_reference_tag(const ReferenceTag& tag) {
  ASSAY_TRY(change().put_reference_tag(tag));
  return raise_generation(connection());
}

Status SqliteTransaction::put_evidence(const EvidenceRow& row) {
  return sqlite::put_evidence(connection(), row);
}

Status SqliteTransaction::forget_evidence(const std::string& subject) {
  return sqlite::forget_evidence(connection(), subject);
}

Status SqliteTransaction::put_registration(const Registration& registration) {
  return change().put_registration(registration);
}

Status SqliteTransaction::remove_registration(const std::string& id) {
  return change().remove_registration(id);
}

Status SqliteTransaction::raise_high_water(const std::string& name, std::uint64_t value,
                                           const std::optional<DocumentId>& collateral) {
  return sqlite::raise_high_water(connection(), name, value, collateral);
}

}  // namespace assay::storage::sqlite
