// SPDX-License-Identifier: Apache-2.0
// The names, inputs and licence that decisions read of a statement besides its predicate. The
// service keeps them beside each statement; a check of an exported decision makes them again.
#pragma once

#include <string>
#include <vector>

#include "policy/lineage.h"
#include "schemas/core/json.h"
#include "schemas/statement.h"

namespace assay::policy {

// Returns {"names": {"<digest>": [...]}}, the distinct names that the subjects give to each digest,
// and, when a subject has several digests, "together", a list of them. With `nameless` every name
// is empty.
[[nodiscard]] Json contents_of(const Statement& statement, bool nameless);

// Adds to `contents` the members "inputs", "unread" and "licence" of a lifecycle statement, whose
// form the caller has checked, or of SLSA provenance. Returns the digests of all inputs, distinct.
// Nothing is added for other statements. Dependencies in SLSA provenance that cannot be read are
// "unread", and no error, because the predicate is not ours.
[[nodiscard]] std::vector<std::string> add_lineage(const Statement& statement, Json& contents);

// Reads what lineages need of a statement: what contents_of() and add_lineage() wrote. Errors:
// data-loss for a member of another form.
[[nodiscard]] Result<LineageStatement> lineage_in(StatementFact fact, const Json& contents);

}  // namespace assay::policy
