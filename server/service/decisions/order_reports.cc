// SPDX-License-Identifier: Apache-2.0
#include "server/service/decisions/order_reports.h"

#include <set>
#include <utility>

#include "server/service/jobs/jobs.h"

namespace assay::server {
namespace {

// Artifact and location.
using Wanted = std::set<std::pair<std::string, std::string>>;

void add_wanted(const std::string& model, const std::vector<ConditionResult>& results,
                Wanted& wanted) {
  for (const ConditionResult& result : results) {
    add_wanted(model, result.parts, wanted);
    if (!result.actual.is_object() || !result.actual.contains(policy::kToVerify)) {
      continue;
    }
    for (const Json& location : result.actual[std::string(policy::kToVerify)]) {
      wanted.emplace(model, location.get<std::string>());
    }
  }
}

}  // namespace

std::vector<OrderedJob> order_reports(Services& services, storage::Store& store,
                                      const std::string& cluster, const std::string& node,
                                      const Decision& decision) {
  std::vector<OrderedJob> ordered;
  if (decision.point != DecisionPoint::kBind) {
    return ordered;
  }
  Wanted wanted;
  for (const PolicyResult& policy : decision.verdict.policies) {
    if (policy.mode != PolicyMode::kShadow) {
      add_wanted(policy.model, policy.conditions, wanted);
    }
  }
  for (const auto& [model, location] : wanted) {
    auto artifact = ArtifactId::parse(model);
    if (!artifact) {
      continue;
    }
    const auto made = order_job(
        services, store, {*std::move(artifact), JobScope::kFiles, node, location, {}, {}}, cluster);
    if (made && *made) {
      ordered.push_back({(*made)->job.id, location});
    }
  }
  return ordered;
}

}  // namespace assay::server
