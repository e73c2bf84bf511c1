// SPDX-License-Identifier: Apache-2.0
// Decides which resources may be accelerators.
#pragma once

#include <string_view>

#include "schemas/policy_match.h"

namespace assay::policy {

// Returns false for the resources that Kubernetes itself provides: cpu, memory, storage,
// ephemeral-storage and huge pages. Returns true for every other name, because an unknown resource
// may be an accelerator.
[[nodiscard]] bool is_extended_resource(std::string_view name);

// Each function below judges one resource of a workload, or one way by which the workload can reach
// an accelerator (an item of Workload::accelerators in policy/facts.h). matches()
// (policy/evaluate.h) combines the answers.

// Returns true when `match.resources` has a pattern that matches `resource`.
[[nodiscard]] bool asks_for(const WorkloadMatch& match, std::string_view resource);
// Returns true when `resource` is an extended resource that no pattern of
// `match.harmless_resources` matches.
[[nodiscard]] bool is_accelerator(const WorkloadMatch& match, std::string_view resource);
// Returns true when a pattern of `match.harmless_resources` matches `way`. Only resources and
// runtime classes can be harmless.
[[nodiscard]] bool is_harmless(const WorkloadMatch& match, std::string_view way);

}  // namespace assay::policy
