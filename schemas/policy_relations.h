// SPDX-License-Identifier: Apache-2.0
// Conditions on who asked, and relations between conditions of one policy. Internal to the codec of
// policies (policy_document.h).
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "schemas/policy_document.h"

namespace assay {

// Parses a condition whose shape the schema has checked.
[[nodiscard]] RequestCondition request_condition_from_json(const Json& json);
[[nodiscard]] Json to_json(const RequestCondition& request);

// Checks the relations between signers (SignerRequirement::none_of): only statement conditions have
// them, and each names another manifest or statement condition of the policy, or kPublishers.
// Errors: policy-invalid, with `where`.
[[nodiscard]] Status check_relations(const std::vector<Condition>& require);

}  // namespace assay
