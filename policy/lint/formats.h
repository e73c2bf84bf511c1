// SPDX-License-Identifier: Apache-2.0
// What lint says of the formats that a parameters condition accepts. Internal to this folder.
#pragma once

#include <vector>

#include "policy/lint.h"
#include "schemas/policy_document.h"

namespace assay::policy {

// `negated`: the condition stands below a `not`. The caller fills in the place of each finding.
[[nodiscard]] std::vector<Finding> lint_formats(const ParametersCondition& parameters,
                                                bool negated);

}  // namespace assay::policy
