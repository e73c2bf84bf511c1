// SPDX-License-Identifier: Apache-2.0
// Queries over the records of the log. Snapshot (storage/store.h) describes the functions.
#pragma once

#include "storage/sqlite/connection.h"
#include "storage/sqlite/lists.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

[[nodiscard]] Result<Found> find_events(Connection& connection, const EventQuery& query,
                                        TreeSize size);
// Errors: data-loss when the stored bytes are not a record or do not have the digest of their leaf.
[[nodiscard]] Result<EventRow> load_event(Connection& connection, LeafIndex index);

}  // namespace assay::storage::sqlite
