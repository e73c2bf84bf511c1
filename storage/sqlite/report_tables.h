// SPDX-License-Identifier: Apache-2.0
// What jobs say of the bytes at each place. Decisions read it by primary key and under seal: no
// index can hide a doubt or a newer report. See NodeReads for what the functions mean.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/sqlite/connection.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

struct PlaceRow {
  std::optional<std::int64_t> newest;  // finished job whose report counts
  std::vector<std::int64_t> doubts;    // open jobs that may speak against it, ascending
  std::optional<Timestamp> against;    // when a report last spoke against the bytes
  bool operator==(const PlaceRow&) const = default;
};
// Nothing when no report was ever at this place, which `place` names as its seal does.
[[nodiscard]] Result<std::optional<PlaceRow>> load_place(Connection& connection,
                                                         const std::string& place);
// How many places are known of a group (0002_nodes.sql).
[[nodiscard]] Result<std::uint64_t> load_group(Connection& connection, const std::string& name);

[[nodiscard]] Result<JobRow> load_newest_report(Connection& connection, const std::string& node,
                                                const ArtifactId& artifact,
                                                const std::string& scope, const ReportPlace& place,
                                                Timestamp now);
[[nodiscard]] Result<std::vector<ReportPlace>> load_report_places(
    Connection& connection, const std::string& node, const ArtifactId& artifact,
    const std::string& scope, const std::string& pod, std::size_t limit);

// After a job was written that may count, or might before (storage/report_rules.h).
[[nodiscard]] Status note_report(Connection& connection, const JobRow& row, std::int64_t seq);
// Makes both tables again from the jobs.
[[nodiscard]] Status remake_places(Connection& connection);

}  // namespace assay::storage::sqlite
