// SPDX-License-Identifier: Apache-2.0
// Checks that the tables, indexes and triggers of the database are those of the migrations. This
// matters because triggers run inside the service's own writes: a trigger that somebody else added
// could change a row before its seal is made (seals.h).
#pragma once

#include <atomic>
#include <cstdint>

#include "schemas/core/error.h"
#include "storage/sqlite/connection.h"

namespace assay::storage::sqlite {

// Compares the schema of the database with the schema that the migrations make. SQLite's own tables
// of statistics, which ANALYZE makes, do not count: they hold no row of the service, and change how
// a query is answered but not its answer. Errors: data-loss when the schemas differ.
[[nodiscard]] Status check_schema(Connection& connection);
// Runs check_schema(), and returns SQLite's schema version at that time, a number that SQLite
// raises with each change of the schema. The caller must not be in a transaction. Errors: those of
// check_schema().
[[nodiscard]] Result<std::int64_t> checked_schema(Connection& connection);
// Drops SQLite's tables of statistics: those of a small database make bad plans for a large one.
[[nodiscard]] Status drop_statistics(Connection& connection);

// The schema of a store that is in use. Thread-safe.
class SchemaInUse {
 public:
  // `version` is what checked_schema() returned.
  explicit SchemaInUse(std::int64_t version) : version_(version) {}

  // Checks that `connection`, which must be in a transaction, has the schema of this service. Runs
  // check_schema() when SQLite's version of the schema is another one than before, as after a
  // VACUUM, or when `again` is set, and then returns true. Errors: data-loss when the schema
  // differs, and from then on at each call, whether it still differs or not: nobody knows what a
  // connection has in memory.
  [[nodiscard]] Result<bool> check(Connection& connection, bool again = false);

 private:
  std::atomic<std::int64_t> version_;
  std::atomic<bool> foreign_ = false;
};

// Makes the indexes and triggers of the migrations anew where they differ, and removes foreign
// ones. Also removes the triggers that would refuse a repair; make_keepers() makes these at the end
// of the repair, and writes the marks of the file (database_file.h). Returns how many objects and
// marks differed. The caller must be in the transaction of a repair. Errors: data-loss when a table
// or a view differs.
[[nodiscard]] Result<std::uint64_t> remake_schema(Connection& connection);
[[nodiscard]] Status make_keepers(Connection& connection);

}  // namespace assay::storage::sqlite
