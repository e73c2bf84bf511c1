// SPDX-License-Identifier: Apache-2.0
// The locations that the mutating webhook may write into a pod.
#include "policy/pinning.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "policy/locations.h"

namespace assay::policy {

std::set<std::string> locations_for_all(std::span<const ActivePolicy> policies,
                                        const Workload& workload, const Facts& model,
                                        Timestamp now) {
  const JudgedFacts judged = judge_signers(model, now);
  std::optional<std::set<std::string>> common;
  for (const ActivePolicy& policy : policies) {
    if (policy.document.mode == PolicyMode::kShadow || !matches(policy.document.match, workload)) {
      continue;
    }
    const LocationSet counted = locations_of(policy.document, judged, model.name).counted;
    std::set<std::string> both;
    if (common) {
      std::ranges::set_intersection(*common, counted, std::inserter(both, both.end()));
    } else {
      both.insert(counted.begin(), counted.end());
    }
    common = std::move(both);
  }
  return common.value_or(std::set<std::string>());
}

}  // namespace assay::policy
