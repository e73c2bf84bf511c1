// SPDX-License-Identifier: Apache-2.0
// What jobs reported about the bytes at each place. Here a place is a node, an artifact, a scope
// and a ReportPlace (storage/node_store.h) together. Decisions read these rows by primary key and
// check their seals (seals.h), so a damaged index cannot hide an open job or a newer report.
// NodeReads describes the functions.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "storage/sqlite/connection.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

struct PlaceRow {
  std::optional<std::int64_t> newest;  // finished job that newest_report() may return
  std::vector<std::int64_t> doubts;    // open jobs that may contradict `newest`, ascending
  std::optional<Timestamp> against;    // when a report last failed to verify the bytes
  bool operator==(const PlaceRow&) const = default;
};
// Returns the row of a place; nullopt when no job that decisions may depend on was ever about the
// place. `place` is the name that seal_name() makes of the row's columns (seals.h).
[[nodiscard]] Result<std::optional<PlaceRow>> load_place(Connection& connection,
                                                         const std::string& place);
// Returns the number of known places in a group: the places of one node, artifact, scope and pod
// (0002_nodes.sql).
[[nodiscard]] Result<std::uint64_t> load_group(Connection& connection, const std::string& name);

[[nodiscard]] Result<JobRow> load_newest_report(Connection& connection, const std::string& node,
                                                const ArtifactId& artifact,
                                                const std::string& scope, const ReportPlace& place,
                                                Timestamp now);
[[nodiscard]] Result<std::vector<ReportPlace>> load_report_places(
    Connection& connection, const std::string& node, const ArtifactId& artifact,
    const std::string& scope, const std::string& pod, std::size_t limit);

// Updates the row of the job's place. The caller must do so after writing a job for which
// ReportRules::may_count() is true, or was true before the write (storage/report_rules.h). `seq` is
// the number of the job's row. A job whose row was lost and rebuilt has an unknown report. Such a
// job therefore clears the reports of its place, and is treated as a report that failed to verify
// the bytes at the time when its row was rebuilt.
[[nodiscard]] Status note_report(Connection& connection, const JobRow& row, std::int64_t seq);
// Rebuilds the tables of places and groups, which are empty, from the jobs.
[[nodiscard]] Status remake_places(Connection& connection);

}  // namespace assay::storage::sqlite
