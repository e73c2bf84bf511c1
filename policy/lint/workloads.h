// SPDX-License-Identifier: Apache-2.0
// The part of lint about workloads: which workloads a policy selects, and what the policy lets
// their pods mount and run.
#pragma once

#include <vector>

#include "policy/lint.h"

namespace assay::policy {

void lint_workloads(const PolicyDocument& policy, std::vector<Finding>& findings);

}  // namespace assay::policy
