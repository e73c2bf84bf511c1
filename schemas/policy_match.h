// SPDX-License-Identifier: Apache-2.0
// The workloads that a policy applies to. policy/match.cc judges them. Part of policy.schema.json.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schemas/core/json.h"

namespace assay {

// All parts must match; an absent part matches every workload. Within a part one value is enough,
// but all labels must match. Lists hold patterns in which '*' stands for any characters.
struct WorkloadMatch {
  std::vector<std::string> namespaces{};
  std::map<std::string, std::string> labels{};  // all must be present with the value
  std::vector<std::string> resources{};         // a container requests or limits one of these
  std::vector<std::string> exclude_namespaces{};
  // "any": the pod must have a way to an accelerator (policy::Workload::accelerators).
  bool accelerators = false;
  // Extended resources and runtime classes ("runtime-class:kata") that give no accelerator. Used
  // only with `accelerators`.
  std::vector<std::string> harmless_resources{};
  // The workload must go to one of these nodes. The node is unknown before `bind`.
  std::vector<std::string> nodes{};
};

// Parses a match that the schema of policies has checked.
[[nodiscard]] WorkloadMatch match_from_json(const Json& json);
[[nodiscard]] Json to_json(const WorkloadMatch& match);

}  // namespace assay
