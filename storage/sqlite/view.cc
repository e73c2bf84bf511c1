// SPDX-License-Identifier: Apache-2.0
// Pages, proofs and the forwarding of the rest to the tables.
#include "storage/sqlite/view.h"

#include <algorithm>

#include "schemas/core/merkle.h"
#include "storage/sqlite/decision_tables.h"
#include "storage/sqlite/documents.h"
#include "storage/sqlite/events.h"
#include "storage/sqlite/evidence_tables.h"
#include "storage/sqlite/job_tables.h"
#include "storage/sqlite/node_tables.h"
#include "storage/sqlite/pod_tables.h"
#include "storage/sqlite/report_tables.h"
#include "storage/sqlite/sealed_lists.h"
#include "storage/sqlite/statement_tables.h"
#include "storage/sqlite/usage_tables.h"

namespace assay::storage::sqlite {
namespace {

std::unexpected<Error> beyond() {
  return fail(ErrorCode::kInvalidParameter, "the log is not that long");
}

std::unexpected<Error> damaged_log() {
  return fail(ErrorCode::kDataLoss, "stored digests of the log do not lead to its root");
}

bool contains(const auto& list, const auto& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

bool is_within(Timestamp time, const auto& query) {
  return (!query.since || time >= *query.since) && (!query.until || time < *query.until);
}

// An index only says where to look: what is found there must itself match.
bool matches(const StatementRow& row, const StatementQuery& query) {
  const auto is = [](const std::string& wanted, const std::string& value) {
    return wanted.empty() || wanted == value;
  };
  return (!query.kind || row.kind == *query.kind) && is(query.predicate_type, row.predicate_type) &&
         is(query.stage, row.stage) && is(query.name, row.name) &&
         (query.subject.empty() || contains(row.subjects, query.subject)) &&
         (query.input.empty() || contains(row.inputs, query.input)) &&
         (!query.signer ||
          std::any_of(row.signers.begin(), row.signers.end(),
                      [&](const SignerRow& signer) { return signer.key == *query.signer; }));
}

bool matches(const DecisionRow& row, const DecisionQuery& query) {
  return (!query.allowed || row.allowed == *query.allowed) &&
         (query.name_space.empty() || row.name_space == query.name_space) &&
         (query.subject.empty() || contains(row.subjects, query.subject)) &&
         (query.reason.empty() || contains(row.reasons, query.reason));
}

bool matches(const EventRow& row, const EventQuery& query) {
  const bool type = query.type.ends_with('.') ? row.record.type.starts_with(query.type)
                                              : query.type.empty() || row.record.type == query.type;
  return type && (query.actor.empty() || row.record.actor == query.actor) &&
         (query.subject.empty() || contains(row.record.subjects, query.subject)) &&
         is_within(row.record.time, query);
}

// The rows of `found`, each read by `load`; data-loss when one does not match `query`.
template <typename T, typename Query, typename Load>
Result<Page<T>> page_of(const Found& found, const Query& query, const LogState& state,
                        const Load& load) {
  Page<T> page{{}, found.next, state.size, state.root, found.total};
  page.items.reserve(found.indexes.size());
  for (const LeafIndex index : found.indexes) {
    ASSAY_ASSIGN(T item, load(index));
    if (!matches(item, query)) {
      return fail(ErrorCode::kDataLoss, "an index names another row than it should",
                  "log index " + std::to_string(index));
    }
    page.items.push_back(std::move(item));
  }
  return page;
}

}  // namespace

Result<Page<StatementRow>> View::statements(const StatementQuery& query, const LogState& state) {
  ASSAY_ASSIGN(const Found found, find_statements(connection_, query, state.size));
  return page_of<StatementRow>(
      found, query, state, [&](LeafIndex index) { return load_statement_at(connection_, index); });
}

Result<Page<DecisionRow>> View::decisions(const DecisionQuery& query, const LogState& state) {
  ASSAY_ASSIGN(const Found found, find_decisions(connection_, query, state.size));
  return page_of<DecisionRow>(
      found, query, state, [&](LeafIndex index) { return load_decision_at(connection_, index); });
}

Result<Page<EventRow>> View::events(const EventQuery& query, const LogState& state) {
  ASSAY_ASSIGN(const Found found, find_events(connection_, query, state.size));
  return page_of<EventRow>(found, query, state,
                           [&](LeafIndex index) { return load_event(connection_, index); });
}

Result<Bytes> View::log_record(LeafIndex index, TreeSize size) {
  return index < size ? load_record(connection_, index) : Result<Bytes>(beyond());
}

Result<std::vector<Digest>> View::inclusion_proof(LeafIndex index, TreeSize proof_size,
                                                  const LogState& state) {
  ASSAY_ASSIGN(const Digest root, log_root(proof_size, state));
  ASSAY_ASSIGN(const auto ranges, inclusion_ranges(index, proof_size));
  ASSAY_ASSIGN(auto path, load_ranges(connection_, ranges));
  ASSAY_ASSIGN(const Digest leaf, load_node(connection_, 0, index));
  return verify_inclusion(leaf, index, proof_size, path, root)
             ? Result<std::vector<Digest>>(std::move(path))
             : damaged_log();
}

Result<std::vector<Digest>> View::consistency_proof(TreeSize first, TreeSize second,
                                                    const LogState& state) {
  ASSAY_ASSIGN(const Digest after, log_root(second, state));
  ASSAY_ASSIGN(const auto ranges, consistency_ranges(first, second));
  ASSAY_ASSIGN(auto proof, load_ranges(connection_, ranges));
  ASSAY_ASSIGN(const Digest before, log_root(first, state));
  return verify_consistency(first, second, before, after, proof)
             ? Result<std::vector<Digest>>(std::move(proof))
             : damaged_log();
}

Result<Digest> View::log_root(TreeSize size, const LogState& state) {
  if (size > state.size) {
    return beyond();
  }
  if (size == state.size) {
    return state.root;
  }
  ASSAY_ASSIGN(Digest root, load_root(connection_, size));
  if (size == 0) {
    return root;
  }
  ASSAY_ASSIGN(const auto ranges, consistency_ranges(size, state.size));
  ASSAY_ASSIGN(const auto proof, load_ranges(connection_, ranges));
  return verify_consistency(size, state.size, root, state.root, proof)
             ? Result<Digest>(std::move(root))
             : damaged_log();
}

template <typename Base>
Result<Document> Reading<Base>::document(const DocumentId& id) {
  return load_document(connection_, id);
}

template <typename Base>
Result<bool> Reading<Base>::has_document(const DocumentId& id) {
  return sqlite::has_document(connection_, id);
}

template <typename Base>
Result<SignerUsage> Reading<Base>::usage(const Topic& topic, const std::string& identity) {
  return load_usage(connection_, topic, identity);
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
Result<StatementRow> Reading<Base>::statement_at(LeafIndex index) {
  return load_statement_at(connection_, index);
}

template <typename Base>
Result<std::vector<LeafIndex>> Reading<Base>::policies_under(const std::string& name) {
  return sqlite::policies_under(connection_, name);
}

template <typename Base>
Result<std::vector<SignedBy>> Reading<Base>::signed_under(const std::string& name) {
  return sqlite::signed_under(connection_, name);
}

template <typename Base>
Result<std::vector<SignedBy>> Reading<Base>::releases_under(const std::string& name) {
  return sqlite::releases_under(connection_, name);
}

template <typename Base>
Result<std::optional<Withdrawn>> Reading<Base>::withdrawal(const StatementId& id) {
  return governance().withdrawal_of(id);
}

template <typename Base>
Result<std::vector<Withdrawn>> Reading<Base>::withdrawals() {
  return governance().withdrawals();
}

template <typename Base>
Result<std::vector<SignedBy>> Reading<Base>::signed_at(const std::string& uri) {
  return sqlite::signed_at(connection_, uri);
}

template <typename Base>
Result<TrustedKey> Reading<Base>::key(const KeyId& id) {
  return governance().key(id);
}

template <typename Base>
Result<std::vector<TrustedKey>> Reading<Base>::keys() {
  return governance().keys();
}

template <typename Base>
Result<std::vector<Principal>> Reading<Base>::principals() {
  return governance().principals();
}

template <typename Base>
Result<Principal> Reading<Base>::principal_by(const Credential& credential) {
  return governance().principal_by(credential);
}

template <typename Base>
Result<std::vector<TrustedRootRow>> Reading<Base>::trusted_roots() {
  return governance().trusted_roots();
}

template <typename Base>
Result<Epochs> Reading<Base>::epochs() {
  return governance().epochs();
}

template <typename Base>
Result<std::vector<ActivePolicyRow>> Reading<Base>::active_policies() {
  return governance().policies();
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
  return view_.inclusion_proof(index, size, state);
}

template <typename Base>
Result<std::vector<Digest>> Reading<Base>::consistency_proof(TreeSize first, TreeSize second) {
  ASSAY_ASSIGN(const LogState state, this->log_state());
  return view_.consistency_proof(first, second, state);
}

template <typename Base>
Result<Digest> Reading<Base>::log_root(TreeSize size) {
  ASSAY_ASSIGN(const LogState state, this->log_state());
  return view_.log_root(size, state);
}

template <typename Base>
Result<Bytes> Reading<Base>::tile(unsigned level, std::uint64_t index, unsigned width) {
  ASSAY_ASSIGN(const LogState state, this->log_state());
  return load_tile(connection_, state, level, index, width);
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

// A revocation is a change of trust: the row only repeats it.
template <typename Base>
Result<NodeRow> Reading<Base>::checked(Result<NodeRow> node) {
  if (node && node->revoked != governance().revocation_of(node->name)) {
    return fail(ErrorCode::kDataLoss,
                "the stored revocation of a node differs from what the log says", node->name);
  }
  return node;
}

template <typename Base>
Result<std::vector<NodeRow>> Reading<Base>::checked(Result<std::vector<NodeRow>> nodes) {
  for (std::size_t i = 0; nodes && i < nodes->size(); ++i) {
    ASSAY_TRY(checked(Result<NodeRow>((*nodes)[i])));
  }
  return nodes;
}

template <typename Base>
Result<NodeRow> Reading<Base>::node(const std::string& name) {
  return checked(load_node(connection_, name));
}

template <typename Base>
Result<std::vector<NodeRow>> Reading<Base>::nodes(const std::string& after, std::size_t limit) {
  return checked(load_nodes(connection_, after, limit));
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
Result<std::vector<PodRow>> Reading<Base>::pods(const PodKey& after, std::size_t limit) {
  return load_pods(connection_, after, limit);
}

template <typename Base>
Result<ClaimRow> Reading<Base>::claim(const std::string& cluster, const std::string& name_space,
                                      const std::string& name) {
  return load_claim(connection_, cluster, name_space, name);
}

template <typename Base>
Result<std::uint64_t> Reading<Base>::node_version(const std::string& node) {
  ASSAY_ASSIGN(const std::uint64_t own, load_node_version(connection_, node));
  // Both only rise, so their sum changes with either.
  ASSAY_ASSIGN(const std::uint64_t evidence, generation(connection_));
  return own + evidence;
}

template <typename Base>
Result<std::uint64_t> Reading<Base>::subject_version(const ArtifactId& artifact) {
  ASSAY_ASSIGN(const std::uint64_t own, load_subject_version(connection_, artifact.text()));
  ASSAY_ASSIGN(const std::uint64_t evidence, generation(connection_));
  return own + evidence;
}

template <typename Base>
Result<std::uint64_t> Reading<Base>::statements_version() {
  return load_statements_version(connection_);
}

template <typename Base>
Result<std::optional<LeafIndex>> Reading<Base>::newest_statement() {
  return load_newest_statement(connection_);
}

template <typename Base>
Result<std::vector<NodeRow>> Reading<Base>::nodes_on(const std::string& platform, Timestamp now) {
  return checked(load_nodes_on(connection_, platform, now));
}

template <typename Base>
Result<Registration> Reading<Base>::registration_of(const std::string& node) {
  return governance().registration_of(node);
}

template <typename Base>
Result<std::vector<Registration>> Reading<Base>::registrations() {
  return governance().registrations();
}

template <typename Base>
Result<DocumentId> Reading<Base>::appraisal_id(const std::string& evidence_type) {
  return governance().appraisal_id(evidence_type);
}

template <typename Base>
Result<EvidenceRow> Reading<Base>::evidence(const std::string& subject) {
  return load_evidence(connection_, subject);
}

template <typename Base>
Result<std::vector<EvidenceRow>> Reading<Base>::stage_evidence(const StatementId& statement) {
  return load_stage_evidence(connection_, statement);
}

template <typename Base>
Result<std::vector<EvidenceRow>> Reading<Base>::stale_evidence(std::size_t limit) {
  return load_stale_evidence(connection_, limit);
}

template <typename Base>
Result<std::vector<EvidenceRow>> Reading<Base>::due_evidence(Timestamp now, std::size_t limit) {
  return load_due_evidence(connection_, now, limit);
}

template <typename Base>
Result<DocumentId> Reading<Base>::high_water_collateral(const std::string& name) {
  return load_high_water_collateral(connection_, name);
}

template <typename Base>
Result<std::vector<std::string>> Reading<Base>::high_waters(const std::string& after,
                                                            std::size_t limit) {
  return load_high_waters(connection_, after, limit);
}

template <typename Base>
Result<Appraisal> Reading<Base>::appraisal(const std::string& evidence_type) {
  return governance().appraisal(evidence_type);
}

template <typename Base>
Result<std::vector<Appraisal>> Reading<Base>::appraisals() {
  return governance().appraisals();
}

template <typename Base>
Result<std::vector<ReferenceTag>> Reading<Base>::reference_tags() {
  return governance().reference_tags();
}

template <typename Base>
Result<std::uint64_t> Reading<Base>::high_water(const std::string& name) {
  return load_high_water(connection_, name);
}

template class Reading<Snapshot>;
template class Reading<Transaction>;

}  // namespace assay::storage::sqlite
