// SPDX-License-Identifier: Apache-2.0
// What each identity has signed about each topic (SignerUsage in storage/store.h). Pushes beyond a
// limit are refused by these counts, so each row has a seal, and `assayd check` counts again.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "storage/governance.h"
#include "storage/sqlite/connection.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

// Errors: data-loss when the row does not fit its seal.
[[nodiscard]] Result<SignerUsage> load_usage(Connection& connection, const Topic& topic,
                                             const std::string& identity);
// Counts the statement for each identity that is among `signers` and not among `known`.
// `governance` says whose keys they are.
[[nodiscard]] Status add_usage(Connection& connection, const Governance& governance,
                               const StatementRow& row, const std::vector<SignerRow>& signers,
                               const std::vector<SignerRow>& known);

// Called for each count that is wrong, with its topic and its identity in words.
using WrongUsage = std::function<void(const std::string& row)>;
// Calls `bad` for each row that does not fit its seal. Returns how many rows there are.
[[nodiscard]] Result<std::uint64_t> check_usage_tags(Connection& connection, const WrongUsage& bad);

// Both are for a repair, which has dropped the triggers of the table. The first sets the counts
// aside before statements are made again; the second counts all statements, and returns how many of
// the former counts were wrong.
[[nodiscard]] Status set_usage_aside(Connection& connection);
[[nodiscard]] Result<std::uint64_t> recount_usage(Connection& connection,
                                                  const Governance& governance);

}  // namespace assay::storage::sqlite
