// SPDX-License-Identifier: Apache-2.0
// Rows of statements and decisions, made again from the log and the documents that it names.
#pragma once

#include "storage/inspect.h"

namespace assay::server {

// data-loss when the document is missing or damaged.
[[nodiscard]] Result<storage::StatementRow> rebuild_statement(
    const storage::DocumentReader& documents, const storage::EventRow& event);
[[nodiscard]] Result<storage::DecisionRow> rebuild_decision(
    const storage::DocumentReader& documents, const storage::EventRow& event);

}  // namespace assay::server
