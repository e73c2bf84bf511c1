// SPDX-License-Identifier: Apache-2.0
// Queries over the records of the log. See Snapshot for what they mean.
#pragma once

#include "storage/sqlite/connection.h"
#include "storage/sqlite/lists.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

[[nodiscard]] Result<Found> find_events(Connection& connection, const EventQuery& query,
                                        TreeSize size);
// data-loss when the stored bytes are no record or do not have their leaf's digest.
[[nodiscard]] Result<EventRow> load_event(Connection& connection, LeafIndex index);

}  // namespace assay::storage::sqlite
