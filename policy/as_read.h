// SPDX-License-Identifier: Apache-2.0
// Removes from a workload everything that no policy reads. Workloads that differ only in unread
// parts become equal, so that their decisions share one stored case (Decision::facts in
// schemas/decision.h).
#pragma once

#include <cstddef>
#include <span>

#include "policy/evaluate.h"

namespace assay::policy {

// Number of resources that as_read() keeps, and number of ways to an accelerator. Beyond this
// number, as_read() keeps a name only when it is the first name that matches what some policy looks
// for.
inline constexpr std::size_t kMaxReadNames = 16;

// Returns `workload` without the labels, resources and ways to an accelerator that the match part
// of no policy looks for. When no policy has `images` or `fill_at_run`, the image names become
// empty. Under `policies`, evaluate() gives the same verdict about `workload` and about the result.
[[nodiscard]] Workload as_read(Workload workload, std::span<const ActivePolicy> policies);

}  // namespace assay::policy
