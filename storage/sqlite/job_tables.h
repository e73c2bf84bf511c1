// SPDX-License-Identifier: Apache-2.0
// Verification jobs. See NodeReads and NodeWrites for what the functions mean.
#pragma once

#include <string>
#include <vector>

#include "storage/sqlite/connection.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

[[nodiscard]] Result<JobRow> load_job(Connection& connection, const std::string& id);
// `order` is set to the job's finish_order when it has one.
[[nodiscard]] Result<JobRow> load_job_at(Connection& connection, std::int64_t seq,
                                         std::int64_t* order = nullptr);
[[nodiscard]] Result<std::vector<JobRow>> load_jobs(Connection& connection, const JobQuery& query);
[[nodiscard]] Result<JobRow> load_next_job(Connection& connection, const std::string& node,
                                           Timestamp now);
[[nodiscard]] Result<JobRow> load_newest_report(Connection& connection, const std::string& node,
                                                const ArtifactId& artifact,
                                                const std::string& scope, const ReportPlace& place,
                                                Timestamp now);
[[nodiscard]] Result<std::vector<ReportPlace>> load_report_places(
    Connection& connection, const std::string& node, const ArtifactId& artifact,
    const std::string& scope, const std::string& pod, std::size_t limit);
// `size` is the size of the log.
[[nodiscard]] Status put_job(Connection& connection, const JobRow& row, TreeSize size);

}  // namespace assay::storage::sqlite
