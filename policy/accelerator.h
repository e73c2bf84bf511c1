// SPDX-License-Identifier: Apache-2.0
// Which resources may be accelerators.
#pragma once

#include <string_view>

#include "schemas/policy_match.h"

namespace assay::policy {

// True for every name but those of the resources that Kubernetes itself hands out: cpu, memory,
// storage, ephemeral-storage and huge pages. What is not known is taken for an accelerator.
[[nodiscard]] bool is_extended_resource(std::string_view name);

// Questions that a match asks about one name. It selects by whether some name holds.

// The match lists resources, and this is one.
[[nodiscard]] bool asks_for(const WorkloadMatch& match, std::string_view resource);
// An extended resource that the match does not call harmless.
[[nodiscard]] bool is_accelerator(const WorkloadMatch& match, std::string_view resource);
// A way (Workload::accelerators) that the match calls harmless.
[[nodiscard]] bool is_harmless(const WorkloadMatch& match, std::string_view way);

}  // namespace assay::policy
