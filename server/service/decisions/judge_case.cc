// SPDX-License-Identifier: Apache-2.0
#include "server/service/decisions/judge_case.h"

#include "attestation/dsse.h"
#include "policy/as_read.h"
#include "policy/lineage.h"
#include "server/service/decisions/asked_locations.h"
#include "server/service/decisions/collect_node.h"
#include "server/service/decisions/tested.h"
#include "server/service/facts/artifact_facts.h"
#include "server/service/lineage/closure.h"

namespace assay::server {

Result<std::shared_ptr<const Policies>> policies_in_force(Services& services,
                                                          storage::Snapshot& snapshot) {
  ASSAY_ASSIGN(const storage::Epochs epochs, snapshot.epochs());
  if (auto known = services.decisions.policies(epochs.policy)) {
    return known;
  }
  ASSAY_ASSIGN(const auto rows, snapshot.active_policies());
  Policies policies;
  for (const storage::ActivePolicyRow& row : rows) {
    ASSAY_ASSIGN(PolicyDocument document, parse_policy(row.payload));
    policies.push_back({row.id, std::move(document)});
  }
  auto parsed = std::make_shared<const Policies>(std::move(policies));
  services.decisions.put_policies(epochs.policy, parsed);
  return parsed;
}

Result<policy::ActivePolicy> stored_policy(storage::Snapshot& snapshot, const StatementId& id) {
  ASSAY_ASSIGN(const storage::StatementRow row, snapshot.statement(id));
  ASSAY_ASSIGN(const storage::Document document, snapshot.document(row.envelopes.front()));
  ASSAY_ASSIGN(const attestation::Envelope envelope, attestation::parse_envelope(document.bytes));
  ASSAY_ASSIGN(PolicyDocument policy, parse_policy(envelope.payload));
  return policy::ActivePolicy{id, std::move(policy)};
}

Result<Verdict> evaluate_case(storage::Snapshot& snapshot, const CaseFile& file,
                              std::span<const policy::ActivePolicy> policies, Timestamp now,
                              DecisionCache* cache) {
  StoredTests tests(snapshot, cache);
  std::vector<policy::Facts> models;
  std::vector<std::string> artifacts;
  artifacts.reserve(file.models.size());
  for (const CaseModel& model : file.models) {
    models.push_back(model.facts);
    models.back().tests = &tests;
    artifacts.push_back(model.facts.artifact ? model.facts.artifact->text() : std::string());
    tests.add(artifacts.back(), model.known ? model.known->envelopes : model.envelopes);
  }
  Verdict verdict =
      policy::evaluate(policies, file.workload, models, file.preconditions, file.point, now);
  ASSAY_TRY(tests.status());
  tests.remember();
  return verdict;
}

Result<CaseFile> open_case(Services& services, storage::Snapshot& snapshot,
                           const DecisionRequest& request, const ResolvedReference& resolved,
                           std::span<const policy::ActivePolicy> policies, Timestamp now) {
  CaseFile file{
      {}, policy::as_read(request.workload, policies), resolved.preconditions, {}, request.point};
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
  for (const policy::ActivePolicy& policy : policies) {
    file.policies.push_back(policy.id);
  }
  return file;
}

}  // namespace assay::server
