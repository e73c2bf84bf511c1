// SPDX-License-Identifier: Apache-2.0
// Removes from a workload everything that no policy reads. Workloads that differ only in unread
// parts become equal, and so become one case.
#pragma once

#include <cstddef>
#include <span>

#include "policy/evaluate.h"

namespace assay::policy {

// Limits the resources, and the ways to an accelerator, that as_read() keeps in each of the two
// lists. Beyond this number as_read() keeps only a name that is the first to match what a policy
// looks for.
inline constexpr std::size_t kMaxReadNames = 16;

// Returns `workload` without the labels, resources and ways to an accelerator that no policy
// matches by. Image names are emptied when no policy has `images` or `fill_at_run`. Under
// `policies`, evaluate() gives the same verdict about `workload` and about the result.
[[nodiscard]] Workload as_read(Workload workload, std::span<const ActivePolicy> policies);

}  // namespace assay::policy
