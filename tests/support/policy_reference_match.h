// SPDX-License-Identifier: Apache-2.0
// Which workloads a policy selects, for the second evaluator: patterns are regular expressions
// here.
#pragma once

#include "policy/evaluate.h"

namespace assay::policy::reference {

[[nodiscard]] bool workload_fits(const WorkloadMatch& match, const Workload& workload,
                                 DecisionPoint point);

}  // namespace assay::policy::reference
