// SPDX-License-Identifier: Apache-2.0
// A place is named by its columns with a separator between them, so that the places of a group lie
// next to each other in the table.
#include "storage/sqlite/report_tables.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>

#include "storage/sqlite/columns.h"
#include "storage/sqlite/job_tables.h"
#include "storage/sqlite/sealed_rows.h"
#include "storage/sqlite/seals.h"

namespace assay::storage::sqlite {
namespace {

constexpr std::size_t kGroupColumns = 4;
constexpr std::size_t kPlaceColumns = 7;

std::unexpected<Error> misplaced(const std::string& what) {
  return fail(ErrorCode::kDataLoss, "what is known of a place names another job than it should",
              what);
}

std::string group_name(const std::string& node, const ArtifactId& artifact,
                       const std::string& scope, const std::string& pod) {
  return seal_name({node, artifact.text(), scope, pod});
}

std::string place_name(const std::string& node, const ArtifactId& artifact,
                       const std::string& scope, const ReportPlace& place) {
  return seal_name(
      {node, artifact.text(), scope, place.pod, place.location, place.pod_volume, place.instance});
}

ReportPlace place_of(const JobRow& row) {
  return {row.location, row.pod, row.pod_volume, row.instance};
}

bool is_about(const JobRow& job, const std::string& node, const ArtifactId& artifact,
              const std::string& scope, const ReportPlace& place) {
  return job.node == node && job.artifact == artifact && job.scope == scope &&
         place_of(job) == place;
}

Result<std::vector<std::int64_t>> numbers_from(const Json& json) {
  std::vector<std::int64_t> numbers;
  if (!json.is_array()) {
    return fail(ErrorCode::kDataLoss, "a stored list of jobs cannot be read");
  }
  for (const Json& number : json) {
    if (!number.is_number_integer()) {
      return fail(ErrorCode::kDataLoss, "a stored list of jobs cannot be read");
    }
    numbers.push_back(number.get<std::int64_t>());
  }
  return numbers;
}

Status put_group(Connection& connection, const std::string& name, std::uint64_t places) {
  ASSAY_TRY(connection.query(Sql::kGroupPut).bind(name).bind(places).run());
  Query query = connection.query(Sql::kGroupGet);
  return keep_seal(connection, Sealed::kReportGroup, name, query.bind(name));
}

Status put_place(Connection& connection, const std::string& place, const PlaceRow& row) {
  ASSAY_ASSIGN(const std::string doubts, canonical_json(Json(row.doubts)));
  {
    Query put = connection.query(Sql::kPlacePut);
    bind_optional(put.bind(place), row.newest).bind(doubts);
    ASSAY_TRY(bind_optional(put, row.against).run());
  }
  Query query = connection.query(Sql::kPlaceGet);
  return keep_seal(connection, Sealed::kNewestReport, place, query.bind(place));
}

// What is known at its place once this job is as it is.
PlaceRow updated(const ReportRules& rules, PlaceRow row, const JobRow& job, std::int64_t seq) {
  std::erase(row.doubts, seq);
  if (job.state != JobState::kDone) {
    if (rules.may_count(job)) {
      row.doubts.insert(std::ranges::upper_bound(row.doubts, seq), seq);
    }
    return row;
  }
  const FinishedWord word = rules.finished(job, row.against);
  if (word.forgets) {
    row.newest.reset();
    row.doubts.clear();
  }
  if (word.takes_place) {
    row.newest = seq;
  }
  row.against = std::max(row.against, word.against);
  return row;
}

// The numbers of the jobs in the order in which they are noted: finished ones as they ended, then
// open ones.
Result<std::vector<std::int64_t>> jobs_in_order(Connection& connection) {
  std::vector<std::int64_t> jobs;
  for (const char* const numbers : {"SELECT seq FROM jobs WHERE finished = 1 ORDER BY finish_order",
                                    "SELECT seq FROM jobs WHERE finished = 0 ORDER BY seq"}) {
    ASSAY_ASSIGN(const std::vector<std::string> found, connection.texts(numbers));
    for (const std::string& text : found) {
      jobs.push_back(std::strtoll(text.c_str(), nullptr, 10));
    }
  }
  return jobs;
}

}  // namespace

Result<std::optional<PlaceRow>> load_place(Connection& connection, const std::string& place) {
  Query query = connection.query(Sql::kPlaceGet);
  ASSAY_ASSIGN(const bool found, query.bind(place).next());
  if (!found) {
    ASSAY_TRY(check_absent(connection, Sealed::kNewestReport, place));
    return std::nullopt;
  }
  ASSAY_TRY(check_seal(connection, Sealed::kNewestReport, place, query));
  ASSAY_ASSIGN(const Json doubts, json_column(query, 1));
  ASSAY_ASSIGN(auto numbers, numbers_from(doubts));
  const auto newest = query.is_null(0) ? std::nullopt : std::optional(query.integer(0));
  return PlaceRow{newest, std::move(numbers), optional_time(query, 2)};
}

Result<std::uint64_t> load_group(Connection& connection, const std::string& name) {
  Query query = connection.query(Sql::kGroupGet);
  ASSAY_ASSIGN(const bool found, query.bind(name).next());
  if (!found) {
    ASSAY_TRY(check_absent(connection, Sealed::kReportGroup, name));
    return 0;
  }
  ASSAY_TRY(check_seal(connection, Sealed::kReportGroup, name, query));
  return query.count(0);
}

Result<JobRow> load_newest_report(Connection& connection, const std::string& node,
                                  const ArtifactId& artifact, const std::string& scope,
                                  const ReportPlace& place, Timestamp now) {
  ASSAY_ASSIGN(const auto row, load_place(connection, place_name(node, artifact, scope, place)));
  if (!row) {
    return fail(ErrorCode::kNotFound, "there is no such job");
  }
  for (const std::int64_t seq : row->doubts) {
    ASSAY_ASSIGN(JobRow job, load_job_at(connection, seq));
    if (!is_about(job, node, artifact, scope, place) || job.state == JobState::kDone) {
      return misplaced(job.id);
    }
    if (connection.rules().speaks_against(job, now)) {
      return job;
    }
  }
  if (!row->newest) {
    return fail(ErrorCode::kNotFound, "there is no such job");
  }
  ASSAY_ASSIGN(JobRow job, load_job_at(connection, *row->newest));
  const bool fits =
      is_about(job, node, artifact, scope, place) && job.state == JobState::kDone && job.report;
  return fits ? Result<JobRow>(std::move(job)) : misplaced(job.id);
}

Result<std::vector<ReportPlace>> load_report_places(Connection& connection, const std::string& node,
                                                    const ArtifactId& artifact,
                                                    const std::string& scope,
                                                    const std::string& pod, std::size_t limit) {
  const std::string group = group_name(node, artifact, scope, pod);
  std::vector<ReportPlace> places;
  {
    Query list = connection.query(Sql::kPlaceList);
    list.bind(group + '\x1f').bind(group + '\x20').bind(limit);
    while (true) {
      ASSAY_ASSIGN(const bool found, list.next());
      if (!found) {
        break;
      }
      const std::string name = list.text(0);
      ASSAY_TRY(load_place(connection, name));
      const std::vector<std::string> columns = seal_columns(name);
      if (columns.size() != kPlaceColumns) {
        return misplaced(name);
      }
      places.push_back(
          {columns[kGroupColumns], pod, columns[kGroupColumns + 1], columns[kGroupColumns + 2]});
    }
  }
  if (places.size() < limit) {
    ASSAY_ASSIGN(const std::uint64_t known, load_group(connection, group));
    if (known != places.size()) {
      return fail(ErrorCode::kDataLoss, "places that reports were about are missing", group);
    }
  }
  return places;
}

Status note_report(Connection& connection, const JobRow& row, std::int64_t seq) {
  const std::string place = place_name(row.node, row.artifact, row.scope, place_of(row));
  ASSAY_ASSIGN(const auto known, load_place(connection, place));
  const PlaceRow next = updated(connection.rules(), known.value_or(PlaceRow{}), row, seq);
  if (known ? *known == next : next == PlaceRow{}) {
    return {};
  }
  ASSAY_TRY(put_place(connection, place, next));
  if (known) {
    return {};
  }
  const std::string group = group_name(row.node, row.artifact, row.scope, row.pod);
  ASSAY_ASSIGN(const std::uint64_t places, load_group(connection, group));
  return put_group(connection, group, places + 1);
}

Status remake_places(Connection& connection) {
  ASSAY_ASSIGN(const std::vector<std::int64_t> jobs, jobs_in_order(connection));
  for (const std::int64_t seq : jobs) {
    ASSAY_ASSIGN(const JobRow job, load_job_at(connection, seq));
    if (connection.rules().may_count(job)) {
      ASSAY_TRY(note_report(connection, job, seq));
    }
  }
  return {};
}

}  // namespace assay::storage::sqlite
