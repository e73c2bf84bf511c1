// SPDX-License-Identifier: Apache-2.0
// Pages, proofs and the forwarding of the rest to the tables.
#include "storage/sqlite/view.h"

#include "storage/sqlite/decision_tables.h"
#include "storage/sqlite/documents.h"
#include "storage/sqlite/events.h"
#include "storage/sqlite/evidence_tables.h"
#include "storage/sqlite/job_tables.h"
#include "storage/sqlite/node_tables.h"
#include "storage/sqlite/pod_tables.h"
#include "storage/sqlite/statement_tables.h"
#include "storage/sqlite/trust_tables.h"
#include "storage/sqlite/versions.h"

namespace assay::storage::sqlite {
namespace {

std::unexpected<Error> beyond() {
  return fail(ErrorCode::kInvalidParameter, "the log is not that long");
}

// The rows of `found`, each read by `load`.
template <typename T, typename Load>
Result<Page<T>> page_of(const Found& found, const LogState& state, const Load& load) {
  Page<T> page{{}, found.next, state.size, state.root, found.total};
  page.items.reserve(found.indexes.size());
  for (const LeafIndex index : found.indexes) {
    ASSAY_ASSIGN(T item, load(index));
    page.items.push_back(std::move(item));
  }
  return page;
}

}  // namespace

Result<Page<StatementRow>> View::statements(const StatementQuery& query, const LogState& state) {
  ASSAY_ASSIGN(const Found found, find_statements(connection_, query, state.size));
  return page_of<StatementRow>(
      found, state, [&](LeafIndex index) { return load_statement_at(connection_, index); });
}

Result<Page<DecisionRow>> View::decisions(const DecisionQuery& query, const LogState& state) {
  ASSAY_ASSIGN(const Found found, find_decisions(connection_, query, state.size));
  return page_of<DecisionRow>(
      found, state, [&](LeafIndex index) { return load_decision_at(connection_, index); });
}

Result<Page<EventRow>> View::events(const EventQuery& query, const LogState& state) {
  ASSAY_ASSIGN(const Found found, find_events(connection_, query, state.size));
  return page_of<EventRow>(found, state,
                           [&](LeafIndex index) { return load_event(connection_, index); });
}

Result<Bytes> View::log_record(LeafIndex index, TreeSize size) {
  return index < size ? load_record(connection_, index) : Result<Bytes>(beyond());
}

Result<std::vector<Digest>> View::inclusion_proof(LeafIndex index, TreeSize proof_size,
                                                  TreeSize size) {
  if (proof_size > size) {
    return beyond();
  }
  ASSAY_ASSIGN(const auto ranges, inclusion_ranges(index, proof_size));
  return load_ranges(connection_, ranges);
}

Result<std::vector<Digest>> View::consistency_proof(TreeSize first, TreeSize second,
                                                    TreeSize size) {
  if (second > size) {
    return beyond();
  }
  ASSAY_ASSIGN(const auto ranges, consistency_ranges(first, second));
  return load_ranges(connection_, ranges);
}

Result<Digest> View::log_root(TreeSize root_size, TreeSize size) {
  return root_size <= size ? load_root(connection_, root_size) : Result<Digest>(beyond());
}

template <typename Base>
Result<Document> Reading<Base>::document(const DocumentId& id) {
  return load_document(connection_, id);
}

template <typename Base>
Result<StatementRow> Reading<Base>::statement(const StatementId& id) {
  return load_statement(connection_, id);
}

template <typename Base>
Result<Page<StatementRow>> Reading<Base>::statements(const StatementQuery& query) {
  ASSAY_ASSIGN(const LogState state, query.with_unanchored ? held_state() : this->log_state());
  return view_.statements(query, state);
}

template <typename Base>
Result<std::vector<StatementRow>> Reading<Base>::manifests_at(const std::string& uri) {
  return sqlite::manifests_at(connection_, uri);
}

template <typename Base>
Result<TrustedKey> Reading<Base>::key(const KeyId& id) {
  return load_key(connection_, id);
}

template <typename Base>
Result<std::vector<TrustedKey>> Reading<Base>::keys() {
  return load_keys(connection_);
}

template <typename Base>
Result<std::vector<Principal>> Reading<Base>::principals() {
  return load_principals(connection_);
}

template <typename Base>
Result<Principal> Reading<Base>::principal_by(const Credential& credential) {
  return load_principal_by(connection_, credential);
}

template <typename Base>
Result<Epochs> Reading<Base>::epochs() {
  return load_epochs(connection_);
}

template <typename Base>
Result<std::vector<ActivePolicyRow>> Reading<Base>::active_policies() {
  return load_active_policies(connection_);
}

template <typename Base>
Result<DecisionRow> Reading<Base>::decision(const std::string& id) {
  return load_decision(connection_, id);
}

template <typename Base>
Result<Page<DecisionRow>> Reading<Base>::decisions(const DecisionQuery& query) {
  ASSAY_ASSIGN(const LogState state, this->log_state());
  return view_.decisions(query, state);
}

template <typename Base>
Result<Page<EventRow>> Reading<Base>::events(const EventQuery& query) {
  ASSAY_ASSIGN(const LogState state, this->log_state());
  return view_.events(query, state);
}

template <typename Base>
Result<Bytes> Reading<Base>::log_record(LeafIndex index) {
  ASSAY_ASSIGN(const LogState state, this->log_state());
  return view_.log_record(index, state.size);
}

template <typename Base>
Result<std::vector<Digest>> Reading<Base>::inclusion_proof(LeafIndex index, TreeSize size) {
  ASSAY_ASSIGN(const LogState state, this->log_state());
  return view_.inclusion_proof(index, size, state.size);
}

template <typename Base>
Result<std::vector<Digest>> Reading<Base>::consistency_proof(TreeSize first, TreeSize second) {
  ASSAY_ASSIGN(const LogState state, this->log_state());
  return view_.consistency_proof(first, second, state.size);
}

template <typename Base>
Result<Digest> Reading<Base>::log_root(TreeSize size) {
  ASSAY_ASSIGN(const LogState state, this->log_state());
  return view_.log_root(size, state.size);
}

template <typename Base>
Result<Bytes> Reading<Base>::tile(unsigned level, std::uint64_t index, unsigned width) {
  ASSAY_ASSIGN(const LogState state, this->log_state());
  return load_tile(connection_, state.size, level, index, width);
}

template <typename Base>
Result<Bytes> Reading<Base>::entry_bundle(std::uint64_t index, unsigned width) {
  ASSAY_ASSIGN(const LogState state, this->log_state());
  return load_bundle(connection_, state.size, index, width);
}

template <typename Base>
Status Reading<Base>::verify_log() {
  ASSAY_ASSIGN(const auto state, load_checkpoint(connection_));
  return state ? check_log(connection_, *state)
               : fail(ErrorCode::kDataLoss, "the newest checkpoint is missing");
}

template <typename Base>
Result<NodeRow> Reading<Base>::node(const std::string& name) {
  return load_node(connection_, name);
}

template <typename Base>
Result<NodeRow> Reading<Base>::node_by_key(const KeyId& key) {
  return load_node_by_key(connection_, key);
}

template <typename Base>
Result<std::vector<NodeRow>> Reading<Base>::nodes(const std::string& after, std::size_t limit) {
  return load_nodes(connection_, after, limit);
}

template <typename Base>
Result<std::string> Reading<Base>::key_owner(const KeyId& key) {
  return load_key_owner(connection_, key);
}

template <typename Base>
Result<JobRow> Reading<Base>::job(const std::string& id) {
  return load_job(connection_, id);
}

template <typename Base>
Result<std::vector<JobRow>> Reading<Base>::jobs(const JobQuery& query) {
  return load_jobs(connection_, query);
}

template <typename Base>
Result<JobRow> Reading<Base>::next_job(const std::string& node, Timestamp now) {
  return load_next_job(connection_, node, now);
}

template <typename Base>
Result<JobRow> Reading<Base>::newest_report(const std::string& node, const ArtifactId& artifact,
                                            const std::string& scope, const ReportPlace& place) {
  return load_newest_report(connection_, node, artifact, scope, place, now_);
}

template <typename Base>
Result<std::vector<ReportPlace>> Reading<Base>::report_places(const std::string& node,
                                                              const ArtifactId& artifact,
                                                              const std::string& scope,
                                                              const std::string& pod,
                                                              std::size_t limit) {
  return load_report_places(connection_, node, artifact, scope, pod, limit);
}

template <typename Base>
Result<DocumentId> Reading<Base>::outline(const ArtifactId& artifact) {
  return load_outline(connection_, artifact);
}

template <typename Base>
Result<PodRow> Reading<Base>::pod(const std::string& cluster, const std::string& uid) {
  return load_pod(connection_, cluster, uid);
}

template <typename Base>
Result<ClaimRow> Reading<Base>::claim(const std::string& cluster, const std::string& name_space,
                                      const std::string& name) {
  return load_claim(connection_, cluster, name_space, name);
}

template <typename Base>
Result<std::uint64_t> Reading<Base>::node_version(const std::string& node) {
  ASSAY_ASSIGN(const std::uint64_t own, load_version(connection_, Versioned::kNode, node));
  // Both only rise, so their sum changes with either.
  ASSAY_ASSIGN(const std::uint64_t evidence, generation(connection_));
  return own + evidence;
}

template <typename Base>
Result<std::uint64_t> Reading<Base>::subject_version(const ArtifactId& artifact) {
  return load_version(connection_, Versioned::kSubject, artifact.text());
}

template <typename Base>
Result<std::vector<NodeRow>> Reading<Base>::nodes_on(const std::string& platform, Timestamp now) {
  return load_nodes_on(connection_, platform, now);
}

template <typename Base>
Result<Registration> Reading<Base>::registration_of(const std::string& node) {
  return load_registration_of(connection_, node);
}

template <typename Base>
Result<std::vector<Registration>> Reading<Base>::registrations() {
  return load_registrations(connection_);
}

template <typename Base>
Result<DocumentId> Reading<Base>::appraisal_id(const std::string& evidence_type) {
  return load_appraisal_id(connection_, evidence_type);
}

template <typename Base>
Result<EvidenceRow> Reading<Base>::evidence(const std::string& subject) {
  return load_evidence(connection_, subject);
}

template <typename Base>
Result<std::vector<EvidenceRow>> Reading<Base>::stale_evidence(std::size_t limit) {
  return load_stale_evidence(connection_, limit);
}

template <typename Base>
Result<DocumentId> Reading<Base>::high_water_collateral(const std::string& name) {
  return load_high_water_collateral(connection_, name);
}

template <typename Base>
Result<Appraisal> Reading<Base>::appraisal(const std::string& evidence_type) {
  return load_appraisal(connection_, evidence_type);
}

template <typename Base>
Result<std::vector<Appraisal>> Reading<Base>::appraisals() {
  return load_appraisals(connection_);
}

template <typename Base>
Result<std::uint64_t> Reading<Base>::high_water(const std::string& name) {
  return load_high_water(connection_, name);
}

template class Reading<Snapshot>;
template class Reading<Transaction>;

}  // namespace assay::storage::sqlite
