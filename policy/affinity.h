// SPDX-License-Identifier: Apache-2.0
// Computes which labels the node of a workload must have.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "policy/evaluate.h"

namespace assay::policy {

struct NodeAffinity {
  // Maps each label to its allowed values: ascending, distinct, never an empty list.
  std::map<std::string, std::vector<std::string>> labels;
  // Labels for which no value is left, because the policies accept different values; ascending.
  std::vector<std::string> conflicts;
};

// Looks at the policies in mode enforce that match the workload. Returns every label that one of
// these policies asks for, with the values that all policies asking for the label accept. `labels`
// only steers where a pod is scheduled; conditions decide whether the pod may run on the node.
// evaluate() denies a workload for which there are `conflicts`.
[[nodiscard]] NodeAffinity node_affinity(std::span<const ActivePolicy> policies,
                                         const Workload& workload);

}  // namespace assay::policy
