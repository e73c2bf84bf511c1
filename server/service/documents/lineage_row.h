// SPDX-License-Identifier: Apache-2.0
// What lineages (policy/lineage.h) read of a stored statement.
#pragma once

#include <map>

#include "policy/lineage.h"
#include "policy/statement_contents.h"
#include "server/service/documents/statement_row.h"

namespace assay::server {

using KeysById = std::map<KeyId, TrustedKey>;

// Returns what lineages read of a stored statement or manifest, and whether it was withdrawn, but
// not its evidence. Errors: data-loss when the row or a key of its signatures cannot be read; those
// of the store.
[[nodiscard]] Result<policy::LineageStatement> lineage_statement(storage::Snapshot& snapshot,
                                                                 const storage::StatementRow& row,
                                                                 const KeysById& keys);

}  // namespace assay::server
