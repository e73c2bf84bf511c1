// SPDX-License-Identifier: Apache-2.0
// Exports a decision: everything that somebody needs to check it offline who has the log's key and
// does not believe this service (schemas/log.md section 8).
#pragma once

#include <string>

#include "schemas/decision_export.h"
#include "storage/store.h"

namespace assay::server {

// Collects the decision, its case, the signed documents that the case and governance rest on, and
// the log records about them, each with a proof under the newest checkpoint. Errors: not-found when
// there is no such decision; case-unsupported when it was made in another format or by other rules;
// limit-exceeded when all of it is longer than kMaxExportedBytes; data-loss.
[[nodiscard]] Result<DecisionExport> export_decision(storage::Snapshot& snapshot,
                                                     const std::string& decision_id);

}  // namespace assay::server
