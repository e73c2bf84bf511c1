// SPDX-License-Identifier: Apache-2.0
// Lint of how conditions go together. Internal to policy.
#pragma once

#include <vector>

#include "policy/lint.h"
#include "policy/lint/predicates.h"

namespace assay::policy {

// Adds findings about combinations that can never pass or never fail, and about conditions that
// exclude each other. `findings` has those about the single conditions, which this reads.
void lint_logic(const PolicyDocument& policy, std::vector<Finding>& findings,
                Comparisons& comparisons);

}  // namespace assay::policy
