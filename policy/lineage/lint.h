// SPDX-License-Identifier: Apache-2.0
// What the author of a lineage condition should know. Internal to policy.
#pragma once

#include <string>
#include <vector>

#include "schemas/lineage_condition.h"

namespace assay::policy {

// Returns warnings about a condition: patterns that accept every leaf, parts that contradict each
// other, rules that cannot pass. `negated`: the condition stands below a `not`.
[[nodiscard]] std::vector<std::string> lint_lineage(const LineageCondition& condition,
                                                    bool negated);

}  // namespace assay::policy
