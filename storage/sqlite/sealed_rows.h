// SPDX-License-Identifier: Apache-2.0
// Access to all tables with sealed rows (seals.h). A row is found by the name of its seal. Used by
// `assayd check` and `assayd repair`, which read all of these tables.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "storage/sqlite/connection.h"
#include "storage/sqlite/seals.h"

namespace assay::storage::sqlite {

// Kinds whose rows have a table of their own with names in it. The order is that of Sealed.
inline constexpr std::array kSealedTables = {
    Sealed::kStatement,  Sealed::kNode,    Sealed::kJob,        Sealed::kChallenge,
    Sealed::kOutline,    Sealed::kPod,     Sealed::kClaim,      Sealed::kHighWater,
    Sealed::kEvidence,   Sealed::kNodeKey, Sealed::kGeneration, Sealed::kNewestReport,
    Sealed::kReportGroup};

// Splits a name that seal_name() made of several columns.
[[nodiscard]] std::vector<std::string> seal_columns(const std::string& name);

[[nodiscard]] const char* table_of(Sealed kind);
// Reads a row, with the same checks as the functions that return this row to callers. Errors:
// data-loss when the row does not fit its seal; not-found or data-loss when there is no row.
[[nodiscard]] Status read_sealed(Connection& connection, Sealed kind, const std::string& name);
// Returns the names of all rows of the table.
[[nodiscard]] Result<std::vector<std::string>> sealed_names(Connection& connection, Sealed kind);
// Removes the row of this name and its entry in the record map. The caller must have dropped the
// triggers of the table.
[[nodiscard]] Status drop_sealed(Connection& connection, Sealed kind, const std::string& name);

// Numbers of entries in the stored record map, by Sealed.
using EntryCounts = std::array<std::uint64_t, 256>;
[[nodiscard]] Result<EntryCounts> count_entries(Connection& connection);

// Makes the record map again from all rows and lists, as they are. Used only by a repair, which has
// judged them. Errors: data-loss when a row cannot be read.
[[nodiscard]] Status collect_map(Connection& connection);

}  // namespace assay::storage::sqlite
