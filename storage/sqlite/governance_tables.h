// SPDX-License-Identifier: Apache-2.0
// The documents of governance (trust and the policies in force, storage/governance.h), and the
// chain of records in the log that names their digests (docs/adr/0021).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "storage/governance.h"
#include "storage/sqlite/connection.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

// Stores the documents in place of those with the digests `before`, where they differ.
[[nodiscard]] Status store_governance(Connection& connection, const GovernanceDocuments& documents,
                                      const std::optional<ChainHead>& before);
// Returns what is stored, whatever the log says of it; an empty state when nothing is. Errors:
// data-loss when it cannot be read.
[[nodiscard]] Result<Governance> load_governance(Connection& connection);

// Follows the chain from its newest record in the log of `state` to its first, and returns the
// newest. Returns nullopt when the log has no record of the chain. Checks that every record is in
// the tree and names the previous record by its leaf hash, and that the chain contains the record
// `anchored`, if that is set. Errors: store-behind-anchor when the chain does not contain
// `anchored`; data-loss for a broken chain.
[[nodiscard]] Result<std::optional<ChainHead>> follow_chain(
    Connection& connection, const LogState& state, const std::optional<ChainHead>& anchored);

// Compares the stored documents with the digests that `head` names, reads them, and returns the
// state. Errors: data-loss when they differ, or when there are documents but no `head`.
[[nodiscard]] Result<Governance> governance_at(Connection& connection,
                                               const std::optional<ChainHead>& head);

// Runs follow_chain() and governance_at(), and returns the verified state.
[[nodiscard]] Result<std::shared_ptr<const Governance>> verified_governance(
    Connection& connection, const LogState& state, const std::optional<ChainHead>& anchored);

}  // namespace assay::storage::sqlite
