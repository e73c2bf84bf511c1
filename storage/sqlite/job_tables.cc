// SPDX-License-Identifier: Apache-2.0
// A job is one row: what was asked for never changes, the rest until it is done.
#include "storage/sqlite/job_tables.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "storage/sqlite/columns.h"
#include "storage/sqlite/documents.h"
#include "storage/sqlite/report_tables.h"
#include "storage/sqlite/seals.h"
#include "storage/sqlite/versions.h"

namespace assay::storage::sqlite {
namespace {

constexpr std::size_t kMaxLimit = 1000;

// By which filters are set: 1 node, 2 artifact, 4 finished.
constexpr std::array<Sql, 8> kLists = {Sql::kJobList,
                                       Sql::kJobListByNode,
                                       Sql::kJobListByArtifact,
                                       Sql::kJobListByNodeArtifact,
                                       Sql::kJobListByFinished,
                                       Sql::kJobListByNodeFinished,
                                       Sql::kJobListByArtifactFinished,
                                       Sql::kJobListByNodeArtifactFinished};

std::unexpected<Error> no_job(const std::string& id) {
  return fail(ErrorCode::kNotFound, "there is no job with this id", id);
}

Result<std::optional<std::int64_t>> find_job(Connection& connection, const std::string& id) {
  Query query = connection.query(Sql::kJobFind);
  ASSAY_ASSIGN(const bool found, query.bind(id).next());
  return found ? std::optional(query.integer(0)) : std::nullopt;
}

Result<JobState> state_from(const Query& query, int column) {
  const std::int64_t state = query.integer(column);
  if (state < std::to_underlying(JobState::kQueued) ||
      state > std::to_underlying(JobState::kDone)) {
    return fail(ErrorCode::kDataLoss, "a stored job is in an unknown state");
  }
  return static_cast<JobState>(state);
}

// An index only says where to look: the row itself must fit what was asked for.
std::unexpected<Error> misplaced(const std::string& id) {
  return fail(ErrorCode::kDataLoss, "an index names another job than it should", id);
}

bool matches(const JobRow& job, const JobQuery& query) {
  return (query.node.empty() || job.node == query.node) &&
         (query.artifact.empty() || job.artifact.text() == query.artifact) &&
         (!query.finished || *query.finished == (job.state == JobState::kDone));
}

// Above every number when a list starts at the newest job.
Result<std::int64_t> start_of(Connection& connection, const std::string& after) {
  if (after.empty()) {
    return std::numeric_limits<std::int64_t>::max();
  }
  ASSAY_ASSIGN(const auto seq, find_job(connection, after));
  if (!seq) {
    return fail(ErrorCode::kInvalidParameter, "there is no job to continue after", "after");
  }
  return *seq;
}

bool is_leased(JobState state) {
  return state == JobState::kLeased || state == JobState::kOutline || state == JobState::kSpot;
}

Status check_row(Connection& connection, const JobRow& row) {
  const bool done = row.state == JobState::kDone;
  if (row.result.empty() == done || row.finished_at.has_value() != done) {
    return fail(ErrorCode::kInvalidParameter, "a job has a result exactly when it is done");
  }
  if (is_leased(row.state) && (row.token == 0 || !row.lease_expires_at)) {
    return fail(ErrorCode::kInvalidParameter, "a leased job has a token and an end of its lease");
  }
  const bool about_place =
      (!row.location.empty() || !row.pod.empty()) && row.pod.empty() == row.pod_volume.empty();
  if (row.instance.empty() ? !about_place : !row.location.empty() || !row.pod_volume.empty()) {
    return fail(ErrorCode::kInvalidParameter,
                "a job is about a location, a volume of a pod, or an instance");
  }
  if (done && row.report.has_value() != row.read_since.has_value()) {
    return fail(ErrorCode::kInvalidParameter, "a report has a time before which nothing was read");
  }
  return row.report ? require_documents(connection, {*row.report}) : Status();
}

// What was asked for, which a replacement must repeat.
bool same_request(const JobRow& a, const JobRow& b) {
  return a.artifact == b.artifact && a.model_name == b.model_name && a.scope == b.scope &&
         a.node == b.node && a.location == b.location && a.pod == b.pod &&
         a.pod_volume == b.pod_volume && a.instance == b.instance && a.subset == b.subset &&
         a.created_by == b.created_by && a.created_at == b.created_at && a.log_index == b.log_index;
}

Status check_replacement(const JobRow& known, const JobRow& row) {
  if (known.state == JobState::kDone) {
    return fail(ErrorCode::kConflict, "the job is done", row.id);
  }
  if (!same_request(known, row)) {
    return fail(ErrorCode::kConflict, "what a job asks for does not change", row.id);
  }
  if (row.token < known.token) {
    return fail(ErrorCode::kConflict, "the token of a lease never goes back", row.id);
  }
  return {};
}

Result<std::optional<std::int64_t>> finish_order(Connection& connection, const JobRow& row) {
  if (row.state != JobState::kDone) {
    return std::nullopt;
  }
  Query query = connection.query(Sql::kJobLastFinished);
  ASSAY_ASSIGN(const bool found, query.next());
  const bool any = found && !query.is_null(0);
  return std::optional<std::int64_t>(any ? query.integer(0) + 1 : 1);
}

// Text of the JSON columns.
struct JsonTexts {
  std::string subset;
  std::string pending;
  std::string detail;
};

Result<JsonTexts> json_texts(const JobRow& row) {
  ASSAY_ASSIGN(std::string subset, canonical_json(row.subset));
  ASSAY_ASSIGN(std::string pending, canonical_json(row.pending));
  ASSAY_ASSIGN(std::string detail, canonical_json(row.detail));
  return JsonTexts{std::move(subset), std::move(pending), std::move(detail)};
}

// The columns from `state` on, which both statements have in the same order.
Query& bind_progress(Query& query, const JobRow& row, const JsonTexts& texts,
                     std::optional<std::int64_t> order) {
  query.bind(std::to_underlying(row.state))
      .bind(row.state == JobState::kDone ? 1 : 0)
      .bind(row.token);
  bind_optional(query, row.lease_expires_at)
      .bind(texts.pending)
      .bind(row.result)
      .bind(texts.detail);
  bind_optional(query, row.report).bind(row.volume);
  bind_optional(query, row.read_since).bind(row.worker_measured ? 1 : 0);
  return bind_optional(bind_optional(query, row.finished_at), order);
}

Status insert_job(Connection& connection, const JobRow& row, const JsonTexts& texts,
                  std::optional<std::int64_t> order) {
  Query query = connection.query(Sql::kJobInsert);
  query.bind(row.id)
      .bind(row.artifact.text())
      .bind(row.model_name)
      .bind(row.scope)
      .bind(row.node)
      .bind(row.location)
      .bind(row.pod)
      .bind(row.pod_volume)
      .bind(row.instance)
      .bind(texts.subset)
      .bind(row.created_by)
      .bind(row.created_at)
      .bind(row.log_index);
  return bind_progress(query, row, texts, order).run();
}

Status seal_job(Connection& connection, const std::string& id, std::int64_t seq) {
  Query query = connection.query(Sql::kJobGet);
  return keep_seal(connection, Sealed::kJob, id, query.bind(seq));
}

}  // namespace

Result<JobRow> load_job_at(Connection& connection, std::int64_t seq) {
  Query query = connection.query(Sql::kJobGet);
  ASSAY_ASSIGN(const bool found, query.bind(seq).next());
  if (!found) {
    return fail(ErrorCode::kDataLoss, "an index names a job that is missing");
  }
  ASSAY_TRY(check_seal(connection, Sealed::kJob, query.text(0), query));
  ASSAY_ASSIGN(ArtifactId artifact, artifact_column(query, 1));
  ASSAY_ASSIGN(Json subset, json_column(query, 6));
  ASSAY_ASSIGN(const JobState state, state_from(query, 10));
  ASSAY_ASSIGN(Json pending, json_column(query, 13));
  ASSAY_ASSIGN(Json detail, json_column(query, 15));
  ASSAY_ASSIGN(auto report, optional_id<DocumentId>(query, 16));
  return JobRow{.id = query.text(0),
                .artifact = std::move(artifact),
                .model_name = query.text(2),
                .scope = query.text(3),
                .node = query.text(4),
                .location = query.text(5),
                .pod = query.text(19),
                .pod_volume = query.text(20),
                .instance = query.text(23),
                .subset = std::move(subset),
                .created_by = query.text(7),
                .created_at = query.time(8),
                .state = state,
                .token = query.count(11),
                .lease_expires_at = optional_time(query, 12),
                .pending = std::move(pending),
                .result = query.text(14),
                .detail = std::move(detail),
                .report = std::move(report),
                .volume = query.text(21),
                .read_since = optional_time(query, 22),
                .worker_measured = query.integer(17) != 0,
                .finished_at = optional_time(query, 18),
                .log_index = query.count(9)};
}

Result<JobRow> load_job(Connection& connection, const std::string& id) {
  ASSAY_ASSIGN(const auto seq, find_job(connection, id));
  if (!seq) {
    ASSAY_TRY(check_absent(connection, Sealed::kJob, id));
    return no_job(id);
  }
  ASSAY_ASSIGN(JobRow job, load_job_at(connection, *seq));
  return job.id == id ? Result<JobRow>(std::move(job)) : misplaced(job.id);
}

Result<std::vector<JobRow>> load_jobs(Connection& connection, const JobQuery& query) {
  if (query.limit < 1 || query.limit > kMaxLimit) {
    return fail(ErrorCode::kInvalidParameter, "the limit of a page is 1 to 1000");
  }
  ASSAY_ASSIGN(const std::int64_t start, start_of(connection, query.after));
  const std::size_t filters = (query.node.empty() ? 0U : 1U) + (query.artifact.empty() ? 0U : 2U) +
                              (query.finished ? 4U : 0U);
  Query list = connection.query(kLists.at(filters));
  if (!query.node.empty()) {
    list.bind(query.node);
  }
  if (!query.artifact.empty()) {
    list.bind(query.artifact);
  }
  if (query.finished) {
    list.bind(*query.finished ? 1 : 0);
  }
  list.bind(start).bind(query.limit);
  std::vector<JobRow> jobs;
  while (true) {
    ASSAY_ASSIGN(const bool row, list.next());
    if (!row) {
      return jobs;
    }
    ASSAY_ASSIGN(JobRow job, load_job_at(connection, list.integer(0)));
    if (!matches(job, query)) {
      return misplaced(job.id);
    }
    jobs.push_back(std::move(job));
  }
}

Result<JobRow> load_next_job(Connection& connection, const std::string& node, Timestamp now) {
  Query query = connection.query(Sql::kJobNext);
  ASSAY_ASSIGN(const bool found, query.bind(node).bind(now).next());
  if (!found) {
    return fail(ErrorCode::kNotFound, "there is no such job");
  }
  ASSAY_ASSIGN(JobRow job, load_job_at(connection, query.integer(0)));
  const bool due =
      job.state == JobState::kQueued || (job.lease_expires_at && *job.lease_expires_at <= now);
  return job.node == node && job.state != JobState::kDone && due ? Result<JobRow>(std::move(job))
                                                                 : misplaced(job.id);
}

Status put_job(Connection& connection, const JobRow& row, TreeSize size) {
  if (row.log_index >= size) {
    return fail(ErrorCode::kInvalidParameter, "the log has no record with this index");
  }
  ASSAY_TRY(check_row(connection, row));
  ASSAY_ASSIGN(const JsonTexts texts, json_texts(row));
  ASSAY_ASSIGN(auto seq, find_job(connection, row.id));
  const ReportRules& rules = connection.rules();
  bool counts = rules.may_count(row);
  if (seq) {
    ASSAY_ASSIGN(const JobRow known, load_job_at(connection, *seq));
    ASSAY_TRY(check_replacement(known, row));
    counts = counts || rules.may_count(known);
  }
  if (counts) {
    ASSAY_TRY(raise_version(connection, Versioned::kNode, row.node));
  }
  ASSAY_ASSIGN(const auto order, finish_order(connection, row));
  if (seq) {
    Query query = connection.query(Sql::kJobUpdate);
    ASSAY_TRY(bind_progress(query.bind(row.id), row, texts, order).run());
  } else {
    ASSAY_TRY(insert_job(connection, row, texts, order));
    ASSAY_ASSIGN(seq, find_job(connection, row.id));
    if (!seq) {
      return no_job(row.id);
    }
  }
  ASSAY_TRY(seal_job(connection, row.id, *seq));
  return counts ? note_report(connection, row, *seq) : Status();
}

}  // namespace assay::storage::sqlite
