// SPDX-License-Identifier: Apache-2.0
// What is worth saying about a policy before it is signed.
#pragma once

#include <string>
#include <vector>

#include "schemas/policy_document.h"

namespace assay::policy {

struct Finding {
  enum class Level { kNote, kWarning };
  Level level;
  std::string condition;  // id, or empty for the policy as a whole
  std::string text;
};

// Notes the decision point of each condition; warns about conditions that cannot fail or cannot
// pass (at_least above the identities listed, an empty any), tests on unlikely pointers, a policy
// that matches every workload, and modes that do not enforce.
[[nodiscard]] std::vector<Finding> lint(const PolicyDocument& policy);

}  // namespace assay::policy
