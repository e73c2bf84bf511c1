// SPDX-License-Identifier: Apache-2.0
// The part of a policy that selects workloads. policy/evaluation/match.cc evaluates this part.
// Schema: policy.schema.json.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schemas/core/error.h"
#include "schemas/core/json.h"

namespace assay {

// A workload is selected when all parts match it; an absent part matches every workload. Of a list,
// one matching value is enough, but all labels must match. Lists hold patterns in which '*' stands
// for any characters.
struct WorkloadMatch {
  std::vector<std::string> namespaces{};
  std::map<std::string, std::string> labels{};  // each label must be present with its value
  std::vector<std::string> resources{};         // a container requests or limits one of these
  std::vector<std::string> exclude_namespaces{};
  // JSON: "any". When true, only a workload that can reach an accelerator matches, for example
  // through a device plugin or a resource claim (policy::Workload::accelerators).
  bool accelerators = false;
  // Extended resources and runtime classes ("runtime-class:kata") that give access to no
  // accelerator. Used only with `accelerators`.
  std::vector<std::string> harmless_resources{};
  // Only a workload that is placed on one of these nodes matches. The node is unknown before the
  // decision point `bind`.
  std::vector<std::string> nodes{};
};

[[nodiscard]] Json to_json(const WorkloadMatch& match);
// Parses a match that the schema of policies has checked.
[[nodiscard]] Result<WorkloadMatch> read_json(json::As<WorkloadMatch> type, const Json& json);

}  // namespace assay
