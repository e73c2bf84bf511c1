// SPDX-License-Identifier: Apache-2.0
// What `assayd repair` does to the tables that the log does not hold row by row.
#pragma once

#include "storage/inspect.h"
#include "storage/sqlite/connection.h"

namespace assay::storage::sqlite {

// In a transaction, with the triggers of the tables dropped. docs/recovery.md has the table of what
// comes back and what does not.
class Remaker {
 public:
  // Counts in `repaired`.
  Remaker(Connection& connection, Repaired& repaired)
      : connection_(connection), repaired_(repaired) {}
  // Takes rows out that do not fit their seals, and what is made again from others.
  [[nodiscard]] Status drop_damaged();
  // After statements, jobs and nodes were made again: places, high-water marks, what signers have
  // stored.
  [[nodiscard]] Status finish();

 private:
  Connection& connection_;
  Repaired& repaired_;
};

}  // namespace assay::storage::sqlite
