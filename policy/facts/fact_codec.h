// SPDX-License-Identifier: Apache-2.0
// The canonical document of one statement (policy/facts.h), which lineages share. Internal to
// policy.
#pragma once

#include <string>

#include "policy/facts.h"

namespace assay::policy {

// Writes a statement with its signers.
[[nodiscard]] Json to_json(const StatementFact& fact);
// Parses what to_json() wrote. Errors: those of facts_from_json(), with the place below `where`.
[[nodiscard]] Result<StatementFact> statement_fact_from_json(const Json& json,
                                                             const std::string& where);

}  // namespace assay::policy
