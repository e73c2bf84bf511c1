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

// The functions below ask whether one name fits a match. The match selects a workload when at least
// one of the workload's names fits.

// Returns true when `match.resources` has a pattern that matches `resource`.
[[nodiscard]] bool asks_for(const WorkloadMatch& match, std::string_view resource);
// Returns true when `resource` is an extended resource that the match does not call harmless.
[[nodiscard]] bool is_accelerator(const WorkloadMatch& match, std::string_view resource);
// Returns true when the match calls harmless this way to an accelerator (an item of
// Workload::accelerators).
[[nodiscard]] bool is_harmless(const WorkloadMatch& match, std::string_view way);

}  // namespace assay::policy
