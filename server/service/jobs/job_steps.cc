// SPDX-License-Identifier: Apache-2.0
#include "server/service/jobs/job_steps.h"

#include <algorithm>

#include "schemas/log_record.h"
#include "server/service/jobs/jobs.h"
#include "server/service/nodes/enrol.h"
#include "server/service/nodes/node_view.h"

namespace assay::server {
namespace {

Json document_json(const std::optional<DocumentId>& id) { return id ? Json(id->text()) : Json(); }

Result<std::optional<DocumentId>> document_from(const Json& json) {
  if (json.is_null()) {
    return std::nullopt;
  }
  ASSAY_ASSIGN(DocumentId id, DocumentId::parse(json.get<std::string>()));
  return id;
}

Json time_json(const std::optional<Timestamp>& time) {
  return time ? Json(to_rfc3339(*time)) : Json();
}

Result<std::optional<Timestamp>> time_from(const Json& json) {
  if (json.is_null()) {
    return std::nullopt;
  }
  ASSAY_ASSIGN(const Timestamp time, parse_rfc3339(json.get<std::string>()));
  return time;
}

// [[entry,index],...]
Json spans_json(const std::vector<SpotSpan>& spans) {
  Json json = Json::array();
  for (const SpotSpan& place : spans) {
    json.push_back(Json::array({place.entry, place.index}));
  }
  return json;
}

std::vector<SpotSpan> spans_from(const Json& json) {
  std::vector<SpotSpan> spans;
  for (const Json& place : json) {
    spans.push_back({place.at(0).get<std::uint64_t>(), place.at(1).get<std::uint64_t>()});
  }
  return spans;
}

std::string_view name(storage::JobState state) {
  switch (state) {
    case storage::JobState::kQueued:
      return "queued";
    case storage::JobState::kLeased:
      return "leased";
    case storage::JobState::kOutline:
      return "outline";
    case storage::JobState::kSpot:
      return "spot";
    case storage::JobState::kDone:
      return "done";
  }
  return "";
}

// The detail of the record is small: the job has it all.
Json record_detail(const storage::JobRow& job, const Pending& pending, const Ending& ending) {
  Json detail = {{"job", job.id},
                 {"node", job.node},
                 {"scope", job.scope},
                 {"location", job.location},
                 {"result", ending.result},
                 {"attempt", job.token},
                 {"worker_measured", pending.worker_measured},
                 {"spot_checks", ending.detail.value("spot_checks", 0)}};
  if (!pending.volume.empty()) {
    detail["volume"] = pending.volume;
  }
  if (!job.pod.empty()) {
    detail["pod"] = job.pod;
  }
  if (!job.instance.empty()) {
    detail["instance"] = job.instance;
  }
  if (!ending.code.empty()) {
    detail["code"] = ending.code;
  }
  if (ending.detail.contains("differing")) {
    detail["differing"] = ending.detail["differing"];
  }
  return detail;
}

// Id of the job whose report counts for the model on the node, once it is done.
Result<std::optional<std::string>> counting_job(storage::Transaction& transaction,
                                                const storage::JobRow& job) {
  const auto counting = transaction.newest_report(
      job.node, job.artifact, job.scope, {job.location, job.pod, job.pod_volume, job.instance});
  if (counting) {
    return counting->state == storage::JobState::kDone ? std::optional(counting->id) : std::nullopt;
  }
  if (counting.error().code == ErrorCode::kNotFound) {
    return std::optional<std::string>();
  }
  return std::unexpected(counting.error());
}

// Evidence of reports is kept, and appraised again, only for those that count.
Status forget_superseded(storage::Transaction& transaction, const storage::JobRow& job,
                         const std::optional<std::string>& before) {
  ASSAY_ASSIGN(const auto after, counting_job(transaction, job));
  if (before && after && before != after) {
    ASSAY_TRY(transaction.forget_evidence(job_subject(*before)));
  }
  return after && after != job.id ? transaction.forget_evidence(job_subject(job.id)) : Status();
}

}  // namespace

// The row is the service's own: what it wrote it can read.
Json to_json(const Pending& pending) {
  Json expected = Json::array();
  for (const Digest& digest : pending.expected) {
    expected.push_back(digest.text());
  }
  return {{"nonce", pending.nonce},
          {"leased_at", to_rfc3339(pending.leased_at)},
          {"report", document_json(pending.report)},
          {"reported_at", time_json(pending.reported_at)},
          {"read_since", time_json(pending.read_since)},
          {"volume", pending.volume},
          {"appraisal", document_json(pending.appraisal)},
          {"worker_measured", pending.worker_measured},
          {"detail", pending.detail},
          {"differences", pending.differences},
          {"localisable", pending.localisable},
          {"answer", pending.answer ? to_json(*pending.answer) : Json()},
          {"drawn", spans_json(pending.drawn)},
          {"expected", std::move(expected)}};
}

Result<Pending> pending_from(const storage::JobRow& job) {
  const Json& json = job.pending;
  if (!json.is_object() || !json.contains("expected")) {
    return fail(ErrorCode::kDataLoss, "a leased job lacks what it waits for");
  }
  Pending pending{};
  pending.nonce = json.at("nonce").get<std::string>();
  ASSAY_ASSIGN(pending.leased_at, parse_rfc3339(json.at("leased_at").get<std::string>()));
  ASSAY_ASSIGN(pending.report, document_from(json.at("report")));
  ASSAY_ASSIGN(pending.reported_at, time_from(json.at("reported_at")));
  ASSAY_ASSIGN(pending.read_since, time_from(json.at("read_since")));
  pending.volume = json.at("volume").get<std::string>();
  ASSAY_ASSIGN(pending.appraisal, document_from(json.at("appraisal")));
  pending.worker_measured = json.at("worker_measured").get<bool>();
  pending.detail = json.at("detail");
  pending.differences = json.at("differences").get<std::vector<Json>>();
  pending.localisable = json.at("localisable").get<std::vector<std::size_t>>();
  if (!json.at("answer").is_null()) {
    ASSAY_ASSIGN(pending.answer, parse_report_answer(as_bytes(json.at("answer").dump())));
  }
  pending.drawn = spans_from(json.value("drawn", Json::array()));
  for (const Json& text : json.at("expected")) {
    ASSAY_ASSIGN(Digest digest, Digest::parse(text.get<std::string>()));
    pending.expected.push_back(std::move(digest));
  }
  return pending;
}

Result<OwnJob> own_job(storage::Snapshot& snapshot, const LeaseCall& call) {
  ASSAY_ASSIGN(storage::JobRow job, snapshot.job(call.job));
  ASSAY_ASSIGN(storage::NodeRow node, owned_node(snapshot, job.node, call.actor));
  return OwnJob{std::move(job), std::move(node)};
}

std::optional<JobPod> pod_of(const storage::JobRow& job) {
  return job.pod_volume.empty() ? std::nullopt : std::optional(JobPod{job.pod, job.pod_volume});
}

std::optional<JobInstance> instance_of(const storage::JobRow& job) {
  return job.instance.empty() ? std::nullopt : std::optional(JobInstance{job.pod, job.instance});
}

bool can_lease(const storage::JobRow& job) {
  return job.state != storage::JobState::kOutline && job.token < kMaxAttempts;
}

Status require_lease(const storage::JobRow& job, std::uint64_t token, Timestamp now) {
  const bool leased =
      job.state != storage::JobState::kQueued && job.state != storage::JobState::kDone;
  if (!leased || job.token != token || !job.lease_expires_at || *job.lease_expires_at <= now) {
    return fail(ErrorCode::kLeaseLost,
                "the lease is over, or another worker has the job; ask for the next one");
  }
  return {};
}

Result<OwnJob> still_own(storage::Transaction& transaction, const LeaseCall& call, Timestamp now) {
  ASSAY_ASSIGN(OwnJob own, own_job(transaction, call));
  ASSAY_TRY(require_lease(own.job, call.token, now));
  ASSAY_TRY(require_active(own.node, now));
  return own;
}

Status finish(storage::Transaction& transaction, storage::JobRow job, const Pending& pending,
              Ending ending, const std::string& actor) {
  const storage::JobRow row = job;
  ASSAY_ASSIGN(const auto before, counting_job(transaction, row));
  const bool by_report = pending.report.has_value() && ending.result != kFailed;
  LogRecord record{.type = std::string(by_report ? event::kReportAccepted : event::kJobFinished),
                   .time = transaction.now(),
                   .actor = actor,
                   .subjects = {job.artifact.text(), job_subject(job.id), node_subject(job.node)},
                   .documents = {},
                   .detail = record_detail(job, pending, ending)};
  for (const auto& document : {pending.report, pending.appraisal}) {
    if (document) {
      record.documents.push_back(*document);
    }
  }
  ASSAY_ASSIGN(const LeafIndex index, transaction.append(std::move(record)));
  ending.detail["log_index"] = index;
  if (!ending.code.empty()) {
    ending.detail["code"] = ending.code;
  }
  job.state = storage::JobState::kDone;
  job.lease_expires_at.reset();
  job.pending = Json();
  job.result = ending.result;
  job.detail = std::move(ending.detail);
  job.report = pending.report;
  job.volume = pending.volume;
  job.read_since = pending.report ? pending.read_since : std::nullopt;
  job.worker_measured = pending.worker_measured;
  job.finished_at = transaction.now();
  ASSAY_TRY(transaction.put_job(job));
  return forget_superseded(transaction, row, before);
}

Ending lost_ending(const storage::JobRow& job, const Pending& pending, ErrorCode code,
                   std::string_view refused) {
  if (job.state == storage::JobState::kOutline) {
    return {kMismatch, mismatch_detail(pending), {}};
  }
  if (!pending.report) {
    Json detail = Json::object();
    if (!refused.empty()) {
      detail["refused"] = refused;
    }
    return {kFailed, std::move(detail), info(code).code};
  }
  Ending ending{kFailed, pending.detail, info(ErrorCode::kSpotCheckFailed).code};
  ending.detail["spot_check"] = {{"spans", pending.drawn.size()}, {"answered", false}};
  return ending;
}

Json mismatch_detail(const Pending& pending) {
  Json detail = pending.detail;
  detail["differences"] = Json::array();
  const std::size_t listed = std::min(pending.differences.size(), kMaxListed);
  for (std::size_t i = 0; i < listed; ++i) {
    detail["differences"].push_back(pending.differences[i]);
  }
  return detail;
}

Json job_view(const storage::JobRow& job) {
  const bool done = job.state == storage::JobState::kDone;
  const auto pod = pod_of(job);
  const auto instance = instance_of(job);
  return {{"id", job.id},
          {"state", name(job.state)},
          {"artifact", job.artifact.text()},
          {"model_name", job.model_name},
          {"scope", job.scope},
          {"node", job.node},
          {"location", job.location},
          {"pod", pod ? to_json(*pod) : Json()},
          {"instance", instance ? to_json(*instance) : Json()},
          {"subset", job.subset},
          {"created_by", job.created_by},
          {"created_at", to_rfc3339(job.created_at)},
          {"attempt", job.token},
          {"lease_expires_at", time_json(job.lease_expires_at)},
          {"result", done ? Json(job.result) : Json()},
          {"detail", job.detail},
          {"report", document_json(job.report)},
          {"volume", job.volume},
          {"read_since", time_json(job.read_since)},
          {"worker_measured", job.worker_measured},
          {"finished_at", time_json(job.finished_at)},
          {"log_index", job.log_index}};
}

}  // namespace assay::server
