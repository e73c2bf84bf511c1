// SPDX-License-Identifier: Apache-2.0
// Relations between conditions of one policy. Internal to the codec of policies
// (policy_document.h).
#pragma once

#include <vector>

#include "schemas/policy_document.h"

namespace assay {

// Checks the relations between signers (SignerRequirement::none_of): only statement conditions have
// them, and each names another manifest or statement condition of the policy, or kPublishers.
// Errors: policy-invalid, with `where`.
[[nodiscard]] Status check_relations(const std::vector<Condition>& require);

}  // namespace assay
