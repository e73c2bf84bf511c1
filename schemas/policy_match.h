// SPDX-License-Identifier: Apache-2.0
// Which workloads a policy is about. Judged by policy/match.cc; part of policy.schema.json.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schemas/core/json.h"

namespace assay {

// An absent part matches everything; parts are AND, values within a part OR (labels: AND). Lists
// are patterns in which '*' stands for any characters.
struct WorkloadMatch {
  std::vector<std::string> namespaces{};
  std::map<std::string, std::string> labels{};  // all must be present with the value
  std::vector<std::string> resources{};         // a container requests or limits one of these
  std::vector<std::string> exclude_namespaces{};
  // "any": a way to an accelerator was found in the pod (policy::Workload::accelerators).
  bool accelerators = false;
  // Extended resources, and runtime classes ("runtime-class:kata"), that give no accelerator; only
  // beside `accelerators`.
  std::vector<std::string> harmless_resources{};
  // The workload goes to one of these nodes: nothing is known of that before `bind`.
  std::vector<std::string> nodes{};
};

// Reads what the schema of policies has checked.
[[nodiscard]] WorkloadMatch match_from_json(const Json& json);
[[nodiscard]] Json to_json(const WorkloadMatch& match);

}  // namespace assay
