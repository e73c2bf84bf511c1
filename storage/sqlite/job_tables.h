// SPDX-License-Identifier: Apache-2.0
// Verification jobs. See NodeReads and NodeWrites for what the functions mean.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/sqlite/connection.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

[[nodiscard]] Result<JobRow> load_job(Connection& connection, const std::string& id);
[[nodiscard]] Result<JobRow> load_job_at(Connection& connection, std::int64_t seq);
// Number of the newest job with a report that counts at a place (0002_nodes.sql); nothing when
// there is none.
[[nodiscard]] Result<std::optional<std::int64_t>> load_newest_at(Connection& connection,
                                                                 const std::string& place);
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
