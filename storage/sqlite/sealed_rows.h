// SPDX-License-Identifier: Apache-2.0
// Access to all tables with sealed rows (seals.h). A row is found by the name of its seal. Used by
// `assayd check` and `assayd repair`, which read all of these tables.
#pragma once

#include <string>
#include <vector>

#include "storage/sqlite/connection.h"
#include "storage/sqlite/seals.h"

namespace assay::storage::sqlite {

// Splits a name that seal_name() made of several columns.
[[nodiscard]] std::vector<std::string> seal_columns(const std::string& name);

[[nodiscard]] const char* table_of(Sealed kind);
// Reads a row, with the same checks as the functions that return this row to callers. Errors:
// data-loss when the row does not fit its seal; not-found or data-loss when there is no row.
[[nodiscard]] Status read_sealed(Connection& connection, Sealed kind, const std::string& name);
// Returns the names of all rows of the table and of all seals of this kind, ascending, each once.
[[nodiscard]] Result<std::vector<std::string>> sealed_names(Connection& connection, Sealed kind);
// Removes the row of this name and its seal. The caller must have dropped the triggers of the
// table.
[[nodiscard]] Status drop_sealed(Connection& connection, Sealed kind, const std::string& name);

}  // namespace assay::storage::sqlite
