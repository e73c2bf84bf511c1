// SPDX-License-Identifier: Apache-2.0
// Log receipts: the proof in an answer that a record is in the log (schemas/log.md, "receipt").
#pragma once

#include "schemas/core/json.h"
#include "storage/store.h"

namespace assay::server {

// Returns {"origin","index","leaf_hash","tree_size","checkpoint","inclusion"} for the record at
// `index`, under the newest checkpoint of `snapshot`.
[[nodiscard]] Result<Json> log_receipt(storage::Snapshot& snapshot, LeafIndex index);

}  // namespace assay::server
