// SPDX-License-Identifier: Apache-2.0
// Rows of statements, decisions, nodes and jobs, made again from the log and the documents that it
// names.
#pragma once

#include "storage/inspect.h"

namespace assay::server {

// data-loss when the document is missing or damaged.
[[nodiscard]] Result<storage::StatementRow> rebuild_statement(
    const storage::DocumentReader& documents, const storage::EventRow& event);
[[nodiscard]] Result<storage::DecisionRow> rebuild_decision(
    const storage::DocumentReader& documents, const storage::EventRow& event);
// The enrolment that a record tells of, ended: what it stood on was in the row alone, so the node
// enrols again.
[[nodiscard]] Result<storage::NodeRow> rebuild_node(const storage::DocumentReader& documents,
                                                    const storage::EventRow& event);
// In place of a job that was created and whose row is lost: failed, with the code data-loss. What
// was reported at its place before counts no more (storage/sqlite/report_tables.h).
[[nodiscard]] Result<storage::JobRow> rebuild_job(const storage::EventRow& event);

}  // namespace assay::server
