// SPDX-License-Identifier: Apache-2.0
// Which labels the node of a workload must have.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "policy/evaluate.h"

namespace assay::policy {

struct NodeAffinity {
  // Label to the values that are allowed, ascending and distinct; never an empty list.
  std::map<std::string, std::vector<std::string>> labels;
  // Labels for which no value is left, ascending: two policies exclude each other.
  std::vector<std::string> conflicts;
};

// Of the policies in mode enforce that match the workload: every label that one of them asks for,
// with the values that all who ask for it accept. Steers where a pod goes; whether it may run there
// the conditions say.
[[nodiscard]] NodeAffinity node_affinity(std::span<const ActivePolicy> policies,
                                         const Workload& workload);

}  // namespace assay::policy
