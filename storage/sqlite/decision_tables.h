// SPDX-License-Identifier: Apache-2.0
// The table of decisions. Snapshot and Transaction (storage/store.h) describe the functions.
#pragma once

#include <string>
#include <vector>

#include "storage/sqlite/connection.h"
#include "storage/sqlite/lists.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

[[nodiscard]] Result<DecisionRow> load_decision(Connection& connection, const std::string& id);
[[nodiscard]] Result<DecisionRow> load_decision_at(Connection& connection, LeafIndex index);
[[nodiscard]] Result<Found> find_decisions(Connection& connection, const DecisionQuery& query,
                                           TreeSize size);
// Writes a row, replacing any row with the same log index. Used only by repair.cc.
[[nodiscard]] Status replace_decision(Connection& connection, const DecisionRow& row);
// Stores a new decision. `size` is the size of the log.
[[nodiscard]] Status put_decision(Connection& connection, const DecisionRow& row, TreeSize size);

}  // namespace assay::storage::sqlite
