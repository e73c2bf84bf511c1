// SPDX-License-Identifier: Apache-2.0
// Tables of statements and of the indexes over them. Snapshot and Transaction (storage/store.h)
// describe the functions.
#pragma once

#include <string>
#include <vector>

#include "storage/sqlite/connection.h"
#include "storage/sqlite/lists.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

[[nodiscard]] Result<StatementRow> load_statement(Connection& connection, const StatementId& id);
[[nodiscard]] Result<StatementRow> load_statement_at(Connection& connection, LeafIndex index);
// Returns the log index of the newest statement; nullopt when there is none.
[[nodiscard]] Result<std::optional<LeafIndex>> load_newest_statement(Connection& connection);
[[nodiscard]] Result<Found> find_statements(Connection& connection, const StatementQuery& query,
                                            TreeSize size);
// Return the version (versions.h) of what is stored about a subject, and of all statements.
[[nodiscard]] Result<std::uint64_t> load_subject_version(Connection& connection,
                                                         const std::string& subject);
[[nodiscard]] Result<std::uint64_t> load_statements_version(Connection& connection);

// Stores a new statement. `size` is the size of the log.
[[nodiscard]] Status put_statement(Connection& connection, const Governance& governance,
                                   const StatementRow& row, TreeSize size);
// Writes a row, replacing any row with the same log index. Used only by repair.cc.
[[nodiscard]] Status replace_statement(Connection& connection, const StatementRow& row);
// Notes that the statement got further signatures or evidence: raises the versions of everything
// that it is about.
[[nodiscard]] Status note_change(Connection& connection, const StatementRow& row);
[[nodiscard]] Status add_envelope(Connection& connection, const Governance& governance,
                                  const StatementId& id, const DocumentId& envelope,
                                  const std::vector<SignerRow>& signers);

}  // namespace assay::storage::sqlite
