// SPDX-License-Identifier: Apache-2.0
#include "server/service/decisions/judge_case.h"

#include <deque>
#include <set>

#include "attestation/dsse.h"
#include "policy/as_read.h"
#include "policy/lineage.h"
#include "policy/reference_sets.h"
#include "server/service/decisions/asked_locations.h"
#include "server/service/decisions/collect_node.h"
#include "server/service/decisions/tested.h"
#include "server/service/facts/artifact_facts.h"
#include "server/service/lineage/closure.h"
#include "server/service/reference_sets.h"

namespace assay::server {
namespace {

Result<Bytes> stored_payload(storage::Snapshot& snapshot, const StatementId& id) {
  ASSAY_ASSIGN(const storage::StatementRow row, snapshot.statement(id));
  ASSAY_ASSIGN(const storage::Document document, snapshot.document(row.envelopes.front()));
  ASSAY_ASSIGN(attestation::Envelope envelope, attestation::parse_envelope(document.bytes));
  return std::move(envelope.payload);
}

// The results that are kept with a lineage, if any are, for one evaluation that ends when `check`
// fails.
class TimedResults final : public policy::LineageResults {
 public:
  TimedResults(const policy::LineageResults* kept, const std::function<Status()>& check)
      : kept_(kept), check_(check) {}

  [[nodiscard]] std::shared_ptr<const ConditionResult> find(const policy::LineageQuestion& question,
                                                            Timestamp now) const override {
    return kept_ != nullptr ? kept_->find(question, now) : nullptr;
  }
  void keep(const policy::LineageQuestion& question, const policy::Horizon& horizon,
            const ConditionResult& result) const override {
    if (kept_ != nullptr) {
      kept_->keep(question, horizon, result);
    }
  }
  [[nodiscard]] bool in_time() const override {
    if (check_ && status_) {
      status_ = check_();
    }
    return status_.has_value();
  }
  // The first error of `check`: then the verdict is worth nothing.
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  const policy::LineageResults* kept_;
  const std::function<Status()>& check_;
  mutable Status status_{};
};

}  // namespace

Result<std::shared_ptr<const Policies>> policies_in_force(Services& services,
                                                          storage::Snapshot& snapshot) {
  ASSAY_ASSIGN(const storage::Epochs epochs, snapshot.epochs());
  if (auto known = services.decisions.policies(epochs.policy)) {
    return known;
  }
  ASSAY_ASSIGN(const auto rows, snapshot.active_policies());
  ASSAY_ASSIGN(const policy::ReferenceSets sets, sets_among(rows));
  Policies policies;
  for (const storage::ActivePolicyRow& row : rows) {
    if (!named_set(row.name)) {
      ASSAY_ASSIGN(PolicyDocument document, parse_policy(row.payload));
      policies.push_back(policy::with_sets(row.id, std::move(document), sets));
    }
  }
  auto parsed = std::make_shared<const Policies>(std::move(policies));
  services.decisions.put_policies(epochs.policy, parsed);
  return parsed;
}

Result<policy::ReferenceSets> stored_sets(storage::Snapshot& snapshot,
                                          const std::vector<StatementId>& ids) {
  policy::ReferenceSets by_name;
  for (const StatementId& id : ids) {
    ASSAY_ASSIGN(const Bytes payload, stored_payload(snapshot, id));
    auto set = parse_reference_set(payload);
    if (!set || by_name.contains(set->name)) {
      return fail(ErrorCode::kDataLoss, "a stored reference set cannot be read", id.text());
    }
    std::string name = set->name;
    by_name.emplace(std::move(name), policy::ActiveSet{id, *std::move(set)});
  }
  return by_name;
}

Result<Policies> stored_policies(storage::Snapshot& snapshot,
                                 const std::vector<StatementId>& policies,
                                 const std::vector<StatementId>& sets) {
  ASSAY_ASSIGN(const policy::ReferenceSets by_name, stored_sets(snapshot, sets));
  Policies found;
  for (const StatementId& id : policies) {
    ASSAY_ASSIGN(const Bytes payload, stored_payload(snapshot, id));
    ASSAY_ASSIGN(PolicyDocument document, parse_policy(payload));
    found.push_back(policy::with_sets(id, std::move(document), by_name));
  }
  return found;
}

Result<Verdict> evaluate_case(storage::Snapshot& snapshot, const CaseFile& file,
                              std::span<const policy::ActivePolicy> policies, Timestamp now,
                              DecisionCache* cache, const std::function<Status()>& check) {
  StoredTests tests(snapshot, cache);
  std::vector<policy::Facts> models;
  std::deque<TimedResults> timed;  // none moves
  std::vector<std::string> artifacts;
  artifacts.reserve(file.models.size());
  for (const CaseModel& model : file.models) {
    models.push_back(model.facts);
    models.back().tests = &tests;
    timed.emplace_back(model.results.get(), check);
    models.back().lineage_results = &timed.back();
    artifacts.push_back(model.facts.artifact ? model.facts.artifact->text() : std::string());
    tests.add(artifacts.back(), model.known ? model.known->envelopes : model.envelopes);
  }
  Verdict verdict =
      policy::evaluate(policies, file.workload, models, file.preconditions, file.point, now);
  for (const TimedResults& one : timed) {
    ASSAY_TRY(one.status());
  }
  ASSAY_TRY(tests.status());
  tests.remember();
  return verdict;
}

Result<CaseFile> open_case(Services& services, storage::Snapshot& snapshot,
                           const DecisionRequest& request, const ResolvedReference& resolved,
                           std::span<const policy::ActivePolicy> policies, Timestamp now) {
  CaseFile file{
      {}, policy::as_read(request.workload, policies), resolved.preconditions, {}, request.point};
  file.bare_names = bare_names_in(request.models);
  for (const DecidedModel& model : resolved.models) {
    ASSAY_ASSIGN(auto known, artifact_facts(services, snapshot, model.artifact));
    policy::Facts facts = known->facts;
    facts.name = model.name;
    CaseModel known_model{std::move(facts), {}, std::move(known)};
    if (policy::asks_for_lineage(policies, request.workload, request.point)) {
      ASSAY_ASSIGN(SeenLineage seen,
                   lineage_facts(services, snapshot, model.artifact, request.deadline));
      known_model.facts.lineage = seen.facts->lineage;
      known_model.lineage = seen.facts;
      known_model.results = seen.facts->results;
      file.lineages.push_back(std::move(seen));
    }
    file.models.push_back(std::move(known_model));
  }
  if (file.models.empty()) {
    file.models.emplace_back();
  }
  if (!request.workload.node.empty()) {
    auto asked = asked_locations(request.locations, file.models, now);
    std::vector<ArtifactId> artifacts;
    for (const DecidedModel& model : resolved.models) {
      artifacts.push_back(model.artifact);
    }
    for (std::size_t i = 0; i < file.models.size(); ++i) {
      ASSAY_TRY(
          collect_node(services, snapshot,
                       {request.workload, request.cluster, request.pod_uid,
                        request.point == DecisionPoint::kServe, std::move(asked[i]), artifacts},
                       file.models[i].facts));
    }
  }
  std::set<StatementId> sets;
  for (const policy::ActivePolicy& policy : policies) {
    file.policies.push_back(policy.id);
    sets.insert(policy.sets.begin(), policy.sets.end());
  }
  file.sets.assign(sets.begin(), sets.end());
  return file;
}

}  // namespace assay::server
