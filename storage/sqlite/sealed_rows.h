// SPDX-License-Identifier: Apache-2.0
// The tables whose rows have seals, each row by the name of its seal: for those who look at all of
// them (`assayd check`, `assayd repair`).
#pragma once

#include <string>
#include <vector>

#include "storage/sqlite/connection.h"
#include "storage/sqlite/seals.h"

namespace assay::storage::sqlite {

// Parts of a name that seal_name() made of several columns.
[[nodiscard]] std::vector<std::string> seal_columns(const std::string& name);

[[nodiscard]] const char* table_of(Sealed kind);
// Reads the row as those do who answer from it: data-loss when it does not fit its seal; not-found
// or data-loss when there is none.
[[nodiscard]] Status read_sealed(Connection& connection, Sealed kind, const std::string& name);
// Names of all rows of the table and of all seals of this kind, ascending, each once.
[[nodiscard]] Result<std::vector<std::string>> sealed_names(Connection& connection, Sealed kind);
// Takes the row of this name, and its seal, out of a table whose triggers are dropped.
[[nodiscard]] Status drop_sealed(Connection& connection, Sealed kind, const std::string& name);

}  // namespace assay::storage::sqlite
