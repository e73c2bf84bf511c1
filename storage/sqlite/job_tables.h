// SPDX-License-Identifier: Apache-2.0
// The table of verification jobs. NodeReads and NodeWrites (storage/node_store.h) describe the
// functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/sqlite/connection.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

[[nodiscard]] Result<JobRow> load_job(Connection& connection, const std::string& id);
[[nodiscard]] Result<JobRow> load_job_at(Connection& connection, std::int64_t seq);
[[nodiscard]] Result<std::vector<JobRow>> load_jobs(Connection& connection, const JobQuery& query);
[[nodiscard]] Result<JobRow> load_next_job(Connection& connection, const std::string& node,
                                           Timestamp now);
// Stores a job. `size` is the size of the log.
[[nodiscard]] Status put_job(Connection& connection, const JobRow& row, TreeSize size);

}  // namespace assay::storage::sqlite
