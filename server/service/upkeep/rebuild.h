// SPDX-License-Identifier: Apache-2.0
// Rebuilds rows of statements, decisions, nodes and jobs from the log and the documents that the
// log names.
#pragma once

#include "storage/inspect.h"

namespace assay::server {

// The next two functions rebuild the row of a statement and of a decision. Errors: data-loss when
// the document is missing or damaged.
[[nodiscard]] Result<storage::StatementRow> rebuild_statement(
    const storage::DocumentReader& documents, const storage::EventRow& event);
[[nodiscard]] Result<storage::DecisionRow> rebuild_decision(
    const storage::DocumentReader& documents, const storage::EventRow& event);
// Rebuilds the row of an enrolment from its log record. The rebuilt enrolment is marked as ended,
// so that the node must enrol again, because only the lost row said on which evidence the enrolment
// was based.
[[nodiscard]] Result<storage::NodeRow> rebuild_node(const storage::DocumentReader& documents,
                                                    const storage::EventRow& event);
// Returns a row that replaces the lost row of a job. In the new row, the job has failed with the
// code data-loss. Earlier reports about the place that this job was about are no longer used
// (storage/sqlite/report_tables.h).
[[nodiscard]] Result<storage::JobRow> rebuild_job(const storage::EventRow& event);

}  // namespace assay::server
