// SPDX-License-Identifier: Apache-2.0
// Checks that the tables, indexes and triggers of the database are those of the migrations. This
// matters because triggers run inside the service's own writes: a trigger that somebody else added
// could change a row before its seal is made (seals.h).
#pragma once

#include <cstdint>

#include "schemas/core/error.h"
#include "storage/sqlite/connection.h"

namespace assay::storage::sqlite {

// Compares the schema of the database with the schema that the migrations make. Errors: data-loss
// when they differ.
[[nodiscard]] Status check_schema(Connection& connection);
// Runs check_schema(), and returns SQLite's schema version at that time, a number that SQLite
// raises with each change of the schema. The caller must not be in a transaction. Errors: those of
// check_schema().
[[nodiscard]] Result<std::int64_t> checked_schema(Connection& connection);
// Checks that the schema has not changed since checked_schema() returned `version`. Errors:
// data-loss when it has.
[[nodiscard]] Status check_schema_version(Connection& connection, std::int64_t version);

// Makes the indexes and triggers of the migrations anew where they differ, and removes foreign
// ones. Also removes the triggers that would refuse a repair; make_keepers() makes these at the end
// of the repair, and writes the marks of the file (database_file.h). Returns how many objects and
// marks differed. The caller must be in the transaction of a repair. Errors: data-loss when a table
// or a view differs.
[[nodiscard]] Result<std::uint64_t> remake_schema(Connection& connection);
[[nodiscard]] Status make_keepers(Connection& connection);

}  // namespace assay::storage::sqlite
