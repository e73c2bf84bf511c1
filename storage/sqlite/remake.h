// SPDX-License-Identifier: Apache-2.0
// The part of `assayd repair` for tables whose rows are not in the log one by one.
#pragma once

#include "storage/inspect.h"
#include "storage/sqlite/connection.h"

namespace assay::storage::sqlite {

// Rebuilds these tables. Use inside a transaction, with the triggers of the tables dropped.
// docs/recovery.md has the table of what can be rebuilt.
class Remaker {
 public:
  // Adds the numbers of rows to `repaired`.
  Remaker(Connection& connection, Repaired& repaired)
      : connection_(connection), repaired_(repaired) {}
  // Removes the rows that do not fit their seals, and the rows that are rebuilt from other rows.
  [[nodiscard]] Status drop_damaged();
  // Rebuilds places, high-water marks and the generation of evidence. Call after jobs and nodes are
  // rebuilt.
  [[nodiscard]] Status finish();

 private:
  Connection& connection_;
  Repaired& repaired_;
};

}  // namespace assay::storage::sqlite
