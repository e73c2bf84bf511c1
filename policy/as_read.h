// SPDX-License-Identifier: Apache-2.0
// A workload without what no policy reads, so that workloads that differ in nothing else are one
// and the same case.
#pragma once

#include <span>

#include "policy/evaluate.h"

namespace assay::policy {

// `workload` without labels that no policy matches by, and without images when no policy has rules
// about images. evaluate() gives the same verdict about both under these policies.
[[nodiscard]] Workload as_read(Workload workload, std::span<const ActivePolicy> policies);

}  // namespace assay::policy
