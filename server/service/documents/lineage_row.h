// SPDX-License-Identifier: Apache-2.0
// What the row of a statement keeps for lineages (policy/lineage.h): what went into the subjects,
// and their licence.
#pragma once

#include <map>

#include "policy/lineage.h"
#include "schemas/statement.h"
#include "server/service/documents/statement_row.h"

namespace assay::server {

// Adds to `contents` the members "inputs", "unread" and "licence" of a lifecycle statement, which
// stage_of() has checked, or of SLSA provenance. Returns the digests of all inputs, distinct.
// Nothing is added for other statements. What of the dependencies in SLSA provenance cannot be read
// is "unread"; it never is an error, because the predicate is not ours.
[[nodiscard]] std::vector<std::string> add_lineage(const Statement& statement, Json& contents);

// Reads what lineages need of a statement from its row: what add_lineage() added, and the names and
// digests of its subjects. Errors: data-loss for a member of another form.
[[nodiscard]] Result<policy::LineageStatement> lineage_in(policy::StatementFact fact,
                                                          const Json& contents);

using KeysById = std::map<KeyId, TrustedKey>;

// Returns what lineages read of a stored statement or manifest, and whether it was withdrawn, but
// not its evidence. Errors: data-loss when the row or a key of its signatures cannot be read; those
// of the store.
[[nodiscard]] Result<policy::LineageStatement> lineage_statement(storage::Snapshot& snapshot,
                                                                 const storage::StatementRow& row,
                                                                 const KeysById& keys);

}  // namespace assay::server
