// SPDX-License-Identifier: Apache-2.0
// The reading functions of the store interface over one connection, used by both snapshots and
// transactions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/sqlite/connection.h"
#include "storage/sqlite/lineage_tables.h"
#include "storage/sqlite/log_tables.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

// Implements parts of Snapshot over a connection inside a transaction. `state` is always the state
// of the log that the caller shows.
class View {
 public:
  explicit View(Connection& connection) : connection_(connection) {}

  [[nodiscard]] Result<Page<StatementRow>> statements(const StatementQuery& query,
                                                      const LogState& state);
  [[nodiscard]] Result<Page<DecisionRow>> decisions(const DecisionQuery& query,
                                                    const LogState& state);
  [[nodiscard]] Result<Page<EventRow>> events(const EventQuery& query, const LogState& state);
  [[nodiscard]] Result<Bytes> log_record(LeafIndex index, TreeSize size);
  // Return only digests that fit the root of `state`. Errors: data-loss when the stored digests do
  // not fit.
  [[nodiscard]] Result<std::vector<Digest>> inclusion_proof(LeafIndex index, TreeSize proof_size,
                                                            const LogState& state);
  [[nodiscard]] Result<std::vector<Digest>> consistency_proof(TreeSize first, TreeSize second,
                                                              const LogState& state);
  [[nodiscard]] Result<Digest> log_root(TreeSize size, const LogState& state);

 private:
  Connection& connection_;
};

// Implements the reading functions of `Base` (Snapshot or Transaction). The derived class provides
// the state of the log (log_state()) and the state in the database (held_state()).
template <typename Base>
class Reading : public Base {
 public:
  // `now` is when the transaction began.
  Reading(Connection& connection, Timestamp now)
      : connection_(connection), view_(connection), lineage_(connection), now_(now) {}

  Result<Document> document(const DocumentId& id) final;
  Result<bool> has_document(const DocumentId& id) final;
  Result<StatementRow> statement(const StatementId& id) final;
  Result<SignerUsage> usage(const Topic& topic, const std::string& identity) final;
  Result<Page<StatementRow>> statements(const StatementQuery& query) final;
  Result<StatementRow> statement_at(LeafIndex index) final;
  Result<std::vector<LeafIndex>> policies_under(const std::string& name) final;
  Result<std::vector<SignedBy>> signed_under(const std::string& name) final;
  Result<std::vector<SignedBy>> releases_under(const std::string& name) final;
  Result<std::vector<SignedBy>> signed_at(const std::string& uri) final;
  Result<TrustedKey> key(const KeyId& id) final;
  Result<std::vector<TrustedKey>> keys() final;
  Result<std::vector<Principal>> principals() final;
  Result<Principal> principal_by(const Credential& credential) final;
  Result<std::vector<TrustedRootRow>> trusted_roots() final;
  Result<Epochs> epochs() final;
  Result<std::optional<Withdrawn>> withdrawal(const StatementId& id) final;
  Result<std::vector<Withdrawn>> withdrawals() final;
  Result<std::vector<ActivePolicyRow>> active_policies() final;
  Result<DecisionRow> decision(const std::string& id) final;
  Result<Page<DecisionRow>> decisions(const DecisionQuery& query) final;
  Result<Page<EventRow>> events(const EventQuery& query) final;
  Result<Bytes> log_record(LeafIndex index) final;
  Result<std::vector<Digest>> inclusion_proof(LeafIndex index, TreeSize size) final;
  Result<std::vector<Digest>> consistency_proof(TreeSize first, TreeSize second) final;
  Result<Digest> log_root(TreeSize size) final;
  Result<Bytes> tile(unsigned level, std::uint64_t index, unsigned width) final;
  Result<Bytes> entry_bundle(std::uint64_t index, unsigned width) final;
  Status verify_log() final;

  Result<NodeRow> node(const std::string& name) final;
  Result<std::vector<NodeRow>> nodes(const std::string& after, std::size_t limit) final;
  Result<std::vector<NodeRow>> nodes_on(const std::string& platform, Timestamp now) final;
  Result<Registration> registration_of(const std::string& node) final;
  Result<std::vector<Registration>> registrations() final;
  Result<std::string> key_owner(const KeyId& key) final;
  Result<JobRow> job(const std::string& id) final;
  Result<std::vector<JobRow>> jobs(const JobQuery& query) final;
  Result<JobRow> next_job(const std::string& node, Timestamp now) final;
  Result<JobRow> newest_report(const std::string& node, const ArtifactId& artifact,
                               const std::string& scope, const ReportPlace& place) override;
  Result<std::vector<ReportPlace>> report_places(const std::string& node,
                                                 const ArtifactId& artifact,
                                                 const std::string& scope, const std::string& pod,
                                                 std::size_t limit) override;
  Result<DocumentId> outline(const ArtifactId& artifact) final;
  Result<PodRow> pod(const std::string& cluster, const std::string& uid) final;
  Result<std::vector<PodRow>> pods(const PodKey& after, std::size_t limit) final;
  Result<ClaimRow> claim(const std::string& cluster, const std::string& name_space,
                         const std::string& name) final;
  Result<std::uint64_t> node_version(const std::string& node) final;
  Result<std::uint64_t> subject_version(const ArtifactId& artifact) final;
  Result<std::uint64_t> statements_version() final;
  LineageReads& lineage() final { return lineage_; }
  Result<std::optional<LeafIndex>> newest_statement() final;
  Result<Appraisal> appraisal(const std::string& evidence_type) final;
  Result<std::vector<Appraisal>> appraisals() final;
  Result<std::vector<ReferenceTag>> reference_tags() final;
  Result<DocumentId> appraisal_id(const std::string& evidence_type) final;
  Result<EvidenceRow> evidence(const std::string& subject) final;
  Result<std::vector<EvidenceRow>> stage_evidence(const StatementId& statement) final;
  Result<std::vector<EvidenceRow>> stale_evidence(std::size_t limit) final;
  Result<std::vector<EvidenceRow>> due_evidence(Timestamp now, std::size_t limit) final;
  Result<std::uint64_t> high_water(const std::string& name) final;
  Result<DocumentId> high_water_collateral(const std::string& name) final;
  Result<std::vector<std::string>> high_waters(const std::string& after, std::size_t limit) final;

 protected:
  [[nodiscard]] Connection& connection() { return connection_; }
  [[nodiscard]] virtual Result<LogState> held_state() = 0;
  // Returns the trust and the policies in force for this view.
  [[nodiscard]] virtual const Governance& governance() = 0;

 private:
  Result<NodeRow> checked(Result<NodeRow> node);
  Result<std::vector<NodeRow>> checked(Result<std::vector<NodeRow>> nodes);

  Connection& connection_;
  View view_;
  LineageTables lineage_;
  Timestamp now_;
};

extern template class Reading<Snapshot>;
extern template class Reading<Transaction>;

}  // namespace assay::storage::sqlite
