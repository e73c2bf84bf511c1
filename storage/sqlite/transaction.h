// SPDX-License-Identifier: Apache-2.0
// The transaction that the work of one write() uses: the writer's connection inside a savepoint.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/sqlite/view.h"

namespace assay::storage::sqlite {

class SqliteTransaction final : public Reading<Transaction> {
 public:
  // `committed` is the newest signed state. `tail` is the end of the log, including the records
  // that the present group of writes has appended (the writes that share one commit). `governance`
  // is the present trust and the policies in force (storage/governance.h).
  SqliteTransaction(Connection& connection, LogTail& tail, const LogState& committed,
                    std::shared_ptr<const Governance> governance, Timestamp now)
      : Reading(connection, now),
        tail_(tail),
        committed_(committed),
        governance_(std::move(governance)),
        now_(now) {}

  // Returns the trust and the policies in force after the work. Errors: internal when the work
  // changed them but appended no record of the change.
  [[nodiscard]] Result<std::shared_ptr<const Governance>> finish();

  Result<LogState> log_state() override;
  Timestamp now() const override { return now_; }
  Result<DocumentId> put_document(std::string_view media_type, ByteView bytes) override;
  Result<LeafIndex> append(LogRecord record) override;
  Status put_statement(const StatementRow& row) override;
  Status add_envelope(const StatementId& id, const DocumentId& envelope,
                      const std::vector<AddedSignature>& signers, LeafIndex record) override;
  Status put_key(const TrustedKey& key) override;
  Status put_principal(const Principal& principal) override;
  Status remove_principal(const std::string& name) override;
  Status put_trusted_root(const TrustedRootRow& root) override;
  Status put_withdrawal(const Withdrawn& withdrawn) override;
  Status set_epochs(const Epochs& epochs) override;
  Status activate_policy(const ActivePolicyRow& policy) override;
  Status deactivate_policy(const std::string& name) override;
  Status put_decision(const DecisionRow& row) override;
  Status put_challenge(const ChallengeRow& row) override;
  Result<ChallengeRow> consume_challenge(ByteView nonce) override;
  Status put_node(const NodeRow& row) override;
  Status put_job(const JobRow& row) override;
  Status put_outline(const ArtifactId& artifact, const DocumentId& document) override;
  Status put_pod(const PodRow& row) override;
  Status remove_pod(const std::string& cluster, const std::string& uid) override;
  Status put_claim(const ClaimRow& row) override;
  Status remove_claim(const std::string& cluster, const std::string& name_space,
                      const std::string& name, const std::string& uid) override;
  Status put_appraisal(const Appraisal& appraisal) override;
  Status put_reference_tag(const ReferenceTag& tag) override;
  Status put_evidence(const EvidenceRow& row) override;
  Status forget_evidence(const std::string& subject) override;
  Status put_registration(const Registration& registration) override;
  Status remove_registration(const std::string& id) override;
  Status raise_high_water(const std::string& name, std::uint64_t value,
                          const std::optional<DocumentId>& collateral) override;

 private:
  Result<LogState> held_state() override { return log_state(); }
  const Governance& governance() override { return changed_ ? *changed_ : *governance_; }
  Governance& change();
  Result<LeafIndex> append_link(LogRecord record);

  LogTail& tail_;
  const LogState& committed_;
  std::shared_ptr<const Governance> governance_;
  std::shared_ptr<Governance> changed_;  // a changed copy; null while unchanged
  bool unrecorded_ = false;              // changed_ has changes without a record of the chain
  Timestamp now_;
};

}  // namespace assay::storage::sqlite
