// SPDX-License-Identifier: Apache-2.0
// A workload without what no policy reads, so that workloads that differ in nothing else are one
// and the same case.
#pragma once

#include <cstddef>
#include <span>

#include "policy/evaluate.h"

namespace assay::policy {

// Resources and ways to an accelerator that are kept of those that policies read. Beyond these only
// what is the first that a policy looks for.
inline constexpr std::size_t kMaxReadNames = 16;

// `workload` without labels, resources and ways to an accelerator that no policy matches by, and
// without images when no policy has rules about images. evaluate() gives the same verdict about
// both under these policies.
[[nodiscard]] Workload as_read(Workload workload, std::span<const ActivePolicy> policies);

}  // namespace assay::policy
