// SPDX-License-Identifier: Apache-2.0
// Verification jobs: created and looked at by who wants to know, leased and answered by workers.

#include "server/service/jobs/jobs.h"

#include "schemas/instance_message.h"
#include "server/api/filters.h"
#include "server/api/handlers.h"
#include "server/api/page.h"
#include "server/api/problem_details.h"
#include "server/service/jobs/report.h"
#include "server/service/jobs/report_follow_up.h"

namespace assay::server {
namespace {

Result<LeaseCall> lease_call(const Call& call) {
  const auto token = call.parameter("lease");
  if (!token) {
    return fail(ErrorCode::kInvalidParameter, "the token of the lease is needed", "lease");
  }
  ASSAY_ASSIGN(const std::uint64_t value, number(*token, "lease"));
  return LeaseCall{call.capture("id"), value, call.principal};
}

Result<std::chrono::seconds> wait_of(const Call& call) {
  ASSAY_ASSIGN(const std::uint64_t wait, number(call.parameter("wait").value_or("0"), "wait"));
  if (wait > static_cast<std::uint64_t>(kMaxLeaseWait.count())) {
    return fail(ErrorCode::kInvalidParameter,
                "wait at most " + std::to_string(kMaxLeaseWait.count()) + " seconds", "wait");
  }
  return std::chrono::seconds(wait);
}

Result<std::optional<bool>> wants_finished(const Call& call) {
  const auto state = call.parameter("state");
  if (!state) {
    return std::nullopt;
  }
  if (*state != "open" && *state != "finished") {
    return fail(ErrorCode::kInvalidParameter, "open or finished", "state");
  }
  return *state == "finished";
}

// What a worker may say of a job that it cannot do.
Result<ErrorCode> failure_of(const Call& call) {
  const std::string given = call.parameter("code").value_or("");
  for (const ErrorCode code : {ErrorCode::kLocationUnmapped, ErrorCode::kPodVolumeMissing,
                               ErrorCode::kInstanceMissing, ErrorCode::kDeviceFailed}) {
    if (info(code).code == given) {
      return code;
    }
  }
  return fail(ErrorCode::kInvalidParameter,
              "location-unmapped, pod-volume-missing, instance-missing or device-failed", "code");
}

// Why the node agent refused the instance when it registered; empty: not said. Any code of errors,
// and the one that only this protocol has.
Result<std::string> refused_of(const Call& call) {
  const std::string given = call.parameter("refused").value_or("");
  if (given.empty() || given == kAlreadyRegistered || error_code_from(given)) {
    return given;
  }
  return fail(ErrorCode::kInvalidParameter, "already-registered, or a code of an error", "refused");
}

using Submit = Result<ReportAnswer> (*)(Services&, const LeaseCall&, ByteView);

Result<Response> submit(Api& api, const Call& call, Submit step) {
  ASSAY_ASSIGN(const LeaseCall lease, lease_call(call));
  ASSAY_ASSIGN(const ReportAnswer answer, step(api.services, lease, call.request.body));
  return json_response(200, to_json(answer));
}

}  // namespace

Result<Response> post_job(Api& api, const Call& call) {
  ASSAY_ASSIGN(const JobRequest request, parse_job_request(call.request.body));
  ASSAY_ASSIGN(const JobCreated made, create_job(api.services, request, call.principal));
  Response response = json_response(made.created ? 201 : 200, job_view(made.job));
  response.headers.emplace_back("Location", "/v1/jobs/" + made.job.id);
  return response;
}

Result<Response> list_jobs(Api& api, const Call& call) {
  storage::JobQuery query;
  ASSAY_ASSIGN(query.limit, limit_parameter(call));
  ASSAY_ASSIGN(query.finished, wants_finished(call));
  ASSAY_ASSIGN(query.node, filter(call, "node", Form::kNode));
  ASSAY_ASSIGN(query.after, filter(call, "after", Form::kUuid));
  if (const auto artifact = call.parameter("artifact")) {
    ASSAY_ASSIGN(const ArtifactId id, ArtifactId::parse(*artifact));
    query.artifact = id.text();
  }
  ASSAY_ASSIGN(const auto snapshot, api.services.store.snapshot());
  ASSAY_ASSIGN(const auto jobs, snapshot->jobs(query));
  Json items = Json::array();
  std::size_t bytes = 0;
  for (const storage::JobRow& job : jobs) {
    Json item = job_view(job);
    bytes += item.dump(-1, ' ', false, Json::error_handler_t::replace).size();
    if (bytes > kMaxPageBytes && !items.empty()) {
      break;
    }
    items.push_back(std::move(item));
  }
  std::optional<std::string> next;
  if (jobs.size() == query.limit || items.size() < jobs.size()) {
    next = jobs[items.size() - 1].id;
  }
  return keyed_list_response(*snapshot, call, std::move(items), query.limit, next);
}

Result<Response> get_job(Api& api, const Call& call) {
  ASSAY_ASSIGN(const auto snapshot, api.services.store.snapshot());
  ASSAY_ASSIGN(const storage::JobRow job, snapshot->job(call.capture("id")));
  return with_etag(call, json_response(200, job_view(job)), kRevalidate);
}

Result<Response> post_lease(Api& api, const Call& call) {
  ASSAY_ASSIGN(const std::chrono::seconds wait, wait_of(call));
  ASSAY_ASSIGN(const LeaseAnswer answer,
               lease_job(api.services, call.capture("node"), call.principal, wait));
  if (answer.lease) {
    return json_response(200, to_json(*answer.lease));
  }
  Response response;
  response.status = 204;
  if (answer.next == LeaseAnswer::Next::kAskNow) {
    response.headers.emplace_back("Retry-After", "0");
  } else if (answer.next == LeaseAnswer::Next::kAskLater) {
    response.headers.emplace_back("Retry-After", kRetryAfter);
  }
  return response;
}

Result<Response> renew_job(Api& api, const Call& call) {
  ASSAY_ASSIGN(const LeaseCall lease, lease_call(call));
  ASSAY_ASSIGN(const Timestamp expires_at, renew_lease(api.services, lease));
  return json_response(200, Json{{"expires_at", to_rfc3339(expires_at)}});
}

Result<Response> fail_lease(Api& api, const Call& call) {
  ASSAY_ASSIGN(const LeaseCall lease, lease_call(call));
  ASSAY_ASSIGN(const ErrorCode why, failure_of(call));
  ASSAY_ASSIGN(const std::string refused, refused_of(call));
  ASSAY_TRY(fail_job(api.services, lease, why, refused));
  ASSAY_ASSIGN(const auto snapshot, api.services.store.snapshot());
  ASSAY_ASSIGN(const storage::JobRow job, snapshot->job(lease.job));
  return json_response(200, job_view(job));
}

Result<Response> post_report(Api& api, const Call& call) {
  return submit(api, call, submit_report);
}

Result<Response> post_outline(Api& api, const Call& call) {
  return submit(api, call, submit_outline);
}

Result<Response> post_spot(Api& api, const Call& call) { return submit(api, call, submit_spot); }

}  // namespace assay::server
