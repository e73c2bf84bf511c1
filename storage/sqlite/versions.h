// SPDX-License-Identifier: Apache-2.0
// Counters that rise when the data that decisions read changes. A decision that was made from a
// snapshot is written only when the counters still have the values that they had in the snapshot.
// Facts that are kept in memory hold as long as the counters do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/sqlite/connection.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

enum class Versioned : std::uint8_t { kSubject = 1, kNode = 2, kAllStatements = 3 };

// Returns 0 when the counter has never risen. Errors: data-loss when the row does not fit its seal.
[[nodiscard]] Result<std::uint64_t> load_version(Connection& connection, Versioned what,
                                                 const std::string& name);
[[nodiscard]] Status raise_version(Connection& connection, Versioned what, const std::string& name);
// Makes the counter at least `least`. Returns false when it was that already.
[[nodiscard]] Result<bool> lift_version(Connection& connection, Versioned what,
                                        const std::string& name, std::uint64_t least);

// Notes, under the version of all statements, that the statement at `index` was changed.
[[nodiscard]] Status put_change(Connection& connection, LeafIndex index);
// Implements LineageReads::changes_since(). Errors: data-loss for a row that does not fit its seal.
[[nodiscard]] Result<std::vector<LeafIndex>> load_changes(Connection& connection,
                                                          std::uint64_t version, std::size_t limit);

// A row of the tables `versions` and `statement_changes`.
struct VersionRow {
  std::int64_t kind = 0;
  std::string name;
};
struct ChangeRow {
  std::int64_t version = 0;
};
// The rows that do not fit their seals, and what is known of the others.
struct VersionsFound {
  std::vector<VersionRow> bad_versions;
  std::vector<ChangeRow> bad_changes;
  std::uint64_t changes = 0;        // good ones
  std::uint64_t newest_change = 0;  // the greatest version of a good one
};
[[nodiscard]] Result<VersionsFound> look_at_versions(Connection& connection);
// Removes the bad rows of `found`. Used only by a repair, which has dropped the tables' triggers.
[[nodiscard]] Status drop_versions(Connection& connection, const VersionsFound& found);

}  // namespace assay::storage::sqlite
