// SPDX-License-Identifier: Apache-2.0
// Policies and reference sets as the service has them.
#pragma once

#include <vector>

#include "cli/client/connect.h"
#include "cli/documents/documents.h"
#include "policy/reference_sets.h"

namespace assay::cli {

// Returns the policy or reference set that is stored under an id. Errors: not-found;
// payload-type-unknown for a document of another kind.
[[nodiscard]] Result<LoadedDocument> stored_document(Api& api, const StatementId& id);

// Returns the sets in force that the policy names. One that is not in force is left out: its
// conditions are errors then.
[[nodiscard]] Result<policy::ReferenceSets> sets_in_force(Api& api, const PolicyDocument& policy);

// Returns the policies in force, each with the values of the sets in force.
[[nodiscard]] Result<std::vector<policy::ActivePolicy>> policies_in_force(Api& api);

}  // namespace assay::cli
