// SPDX-License-Identifier: Apache-2.0
// Rebuilds rows of statements, decisions, nodes and jobs from the log and the documents that it
// names.
#pragma once

#include "storage/inspect.h"

namespace assay::server {

// Rebuild the row of a statement and of a decision. Errors: data-loss when the document is missing
// or damaged.
[[nodiscard]] Result<storage::StatementRow> rebuild_statement(
    const storage::DocumentReader& documents, const storage::EventRow& event);
[[nodiscard]] Result<storage::DecisionRow> rebuild_decision(
    const storage::DocumentReader& documents, const storage::EventRow& event);
// Rebuilds the enrolment that a record reports, as an ended one. Only the lost row held what the
// enrolment was based on, so the node must enrol again.
[[nodiscard]] Result<storage::NodeRow> rebuild_node(const storage::DocumentReader& documents,
                                                    const storage::EventRow& event);
// Returns a row in place of the lost row of a created job: failed, with the code data-loss. Earlier
// reports for the job's place no longer count (storage/sqlite/report_tables.h).
[[nodiscard]] Result<storage::JobRow> rebuild_job(const storage::EventRow& event);

}  // namespace assay::server
