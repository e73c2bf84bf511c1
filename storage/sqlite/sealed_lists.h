// SPDX-License-Identifier: Apache-2.0
// Lists of statements that decisions read as a whole: what is about a digest, what was made from
// it, and who signed what under a name or for a location. An index finds their members. The record
// map has a chain of HMACs over the members of each list in the order in which they came, so a
// member that an index hides, adds or puts elsewhere is noticed.
#pragma once

#include <string>
#include <vector>

#include "storage/sqlite/connection.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

// Each returns the whole list, ascending. Errors: data-loss when the index names other members than
// were put in.
[[nodiscard]] Result<std::vector<LeafIndex>> statements_about(Connection& connection,
                                                              const std::string& digest);
[[nodiscard]] Result<std::vector<LeafIndex>> statements_from(Connection& connection,
                                                             const std::string& digest);
[[nodiscard]] Result<std::vector<SignedBy>> signed_under(Connection& connection,
                                                         const std::string& name);
[[nodiscard]] Result<std::vector<SignedBy>> releases_under(Connection& connection,
                                                           const std::string& name);
[[nodiscard]] Result<std::vector<SignedBy>> signed_at(Connection& connection,
                                                      const std::string& uri);
[[nodiscard]] Result<std::vector<LeafIndex>> policies_under(Connection& connection,
                                                            const std::string& name);

// What a write adds to lists: a statement with its signers, or signers to a statement.
enum class Added : bool { kSigners, kStatement };
// Extends the lists that the statement belongs to. The caller must add statements in the order of
// the log, and signers in that of the records that name them.
[[nodiscard]] Status extend_lists(Connection& connection, const StatementRow& row,
                                  std::vector<SignerRow> signers, Added added);
// Checks all lists that the statement belongs to; where the record map collects (map_table.h), puts
// them into it. Errors: data-loss.
[[nodiscard]] Status check_lists(Connection& connection, const StatementRow& row);

}  // namespace assay::storage::sqlite
