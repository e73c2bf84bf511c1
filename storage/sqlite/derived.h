// SPDX-License-Identifier: Apache-2.0
// What only repeats records and statements, so that these are found, ordered and counted: columns
// of log records, signer_usage, versions, statement_changes, lists that decisions read, and lists
// whose row is gone. `assayd check` compares it, and `assayd repair` makes it again.
#pragma once

#include <functional>
#include <string>

#include "storage/inspect.h"
#include "storage/sqlite/connection.h"
#include "storage/sqlite/versions.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

// Called for each difference: the table or row, and a sentence.
using Tell = std::function<void(std::string id, std::string detail)>;

// Compares the columns `time`, `type` and `actor` of a record with the record itself.
[[nodiscard]] Status compare_columns(Connection& connection, const EventRow& event,
                                     const Tell& tell);
// Writes these columns again. Returns false when all of them were right.
[[nodiscard]] Result<bool> remake_columns(Connection& connection, const EventRow& event);

// Finds rows of counters that do not fit their seals.
[[nodiscard]] Status check_counters(Connection& connection, const Tell& tell);
// Compares all the rest. Errors: only those of a database that cannot be read.
[[nodiscard]] Status compare_derived(Connection& connection, const Progress& progress,
                                     const Tell& tell);

// Makes all the rest again. The caller must be inside the transaction of a repair, which has
// dropped the triggers of the tables, and must call before() before the first and after() after the
// last row is made again.
class DerivedRemaker {
 public:
  // Adds the numbers of rows to `repaired`.
  DerivedRemaker(Connection& connection, const Governance& governance, Repaired& repaired)
      : connection_(connection), governance_(governance), repaired_(repaired) {}
  [[nodiscard]] Status before();
  [[nodiscard]] Status after();

 private:
  [[nodiscard]] Status drop_lists();
  [[nodiscard]] Status remake_versions();

  Connection& connection_;
  const Governance& governance_;
  Repaired& repaired_;
  VersionsFound versions_;
};

}  // namespace assay::storage::sqlite
