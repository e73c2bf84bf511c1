// SPDX-License-Identifier: Apache-2.0
// The part of `assayd repair` for tables whose rows have no log records of their own.
#pragma once

#include <map>
#include <set>
#include <string>

#include "storage/inspect.h"
#include "storage/sqlite/connection.h"
#include "storage/sqlite/seals.h"

namespace assay::storage::sqlite {

// Rebuilds the tables whose rows have no log records of their own. The caller must be inside a
// transaction, and must have dropped the triggers of the tables. docs/recovery.md has the table of
// what can be rebuilt.
class Remaker {
 public:
  // Adds the numbers of rows to `repaired`.
  Remaker(Connection& connection, Repaired& repaired)
      : connection_(connection), repaired_(repaired) {}
  // Removes the rows that do not fit their seals (seals.h), and the rows that finish() rebuilds
  // from other rows.
  [[nodiscard]] Status drop_damaged();
  // Rebuilds the rows of places (report_tables.h), the high-water marks and the generation of
  // evidence (evidence_tables.h). The caller must have rebuilt jobs and nodes before.
  [[nodiscard]] Status finish();

 private:
  Connection& connection_;
  Repaired& repaired_;
  std::map<Sealed, std::set<std::string>> places_;  // rows that were whole before
};

}  // namespace assay::storage::sqlite
