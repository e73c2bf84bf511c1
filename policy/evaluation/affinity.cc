// SPDX-License-Identifier: Apache-2.0
// The labels that policies ask of the node of a workload.
#include "policy/affinity.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace assay::policy {

NodeAffinity node_affinity(std::span<const ActivePolicy> policies, const Workload& workload) {
  std::map<std::string, std::set<std::string>> allowed;
  for (const ActivePolicy& policy : policies) {
    const PolicyDocument& document = policy.document;
    if (document.mode != PolicyMode::kEnforce || !matches(document.match, workload)) {
      continue;
    }
    for (const auto& [label, values] : document.node_affinity) {
      const std::set<std::string> wanted(values.begin(), values.end());
      const auto [known, first] = allowed.emplace(label, wanted);
      if (!first) {
        std::set<std::string> both;
        std::set_intersection(known->second.begin(), known->second.end(), wanted.begin(),
                              wanted.end(), std::inserter(both, both.end()));
        known->second = std::move(both);
      }
    }
  }
  NodeAffinity affinity;
  for (const auto& [label, values] : allowed) {
    if (values.empty()) {
      affinity.conflicts.push_back(label);
    } else {
      affinity.labels.emplace(label, std::vector<std::string>(values.begin(), values.end()));
    }
  }
  return affinity;
}

}  // namespace assay::policy
