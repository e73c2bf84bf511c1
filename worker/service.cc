// SPDX-License-Identifier: Apache-2.0
#include "worker/service.h"

#include <algorithm>
#include <utility>

#include "attestation/dsse.h"
#include "client/api.h"
#include "worker/pace.h"

namespace assay::cli {

namespace {

// More pages of manifests of one artifact than a service keeps statements.
constexpr int kMaxPages = 1000;
// The service lets nobody wait longer than 25 s.
constexpr std::uint64_t kLongestWait = 20;

std::string job_path(const JobLease& lease) { return "/v1/jobs/" + percent_encode(lease.job); }

std::string token_query(const JobLease& lease) { return "?lease=" + std::to_string(lease.token); }

Result<Json> json_of(const Bytes& body) {
  JsonLimits limits;
  limits.max_bytes = kMaxResponseBytes;
  return parse_json(ByteView(body), limits);
}

Result<Timestamp> time_at(const Json& json, const char* member) {
  return parse_rfc3339(text_at(json, member));
}

// The manifests to go by, once all pages were looked at: those with the name of the job before
// others, the newest first. The service lists the oldest first, and with them manifests of other
// roots that name the artifact as one more digest.
struct Candidates {
  std::vector<std::string> named;
  std::vector<std::string> other;

  void look_at(const Json& page, const ArtifactId& artifact, const std::string& name) {
    for (const Json& item : list_at(page, "items")) {
      if (text_at(item, "artifact") == artifact.text()) {
        (text_at(item, "name") == name ? named : other).push_back(text_at(item, "id"));
      }
    }
  }
  [[nodiscard]] std::vector<std::string> best_first() const {
    std::vector<std::string> all(named.rbegin(), named.rend());
    all.insert(all.end(), other.rbegin(), other.rend());
    return all;
  }
};

}  // namespace

Result<Enrolled> enrolled_from_json(const Json& json) {
  Enrolled enrolled;
  ASSAY_ASSIGN(const Timestamp from, time_at(json, "enrolled_at"));
  ASSAY_ASSIGN(enrolled.expires_at, time_at(json, "expires_at"));
  enrolled.length = enrolled.expires_at - from;
  if (enrolled.length <= std::chrono::milliseconds::zero()) {
    return fail(ErrorCode::kSchemaViolation, "The enrolment is over before it begins",
                "/expires_at");
  }
  enrolled.key_id = text_at(json, "key_id");
  const auto measured = json.find("worker_measured");
  enrolled.worker_measured =
      measured != json.end() && measured->is_boolean() && measured->get<bool>();
  enrolled.tcb_status = text_at(json, "tcb_status");
  return enrolled;
}

Result<WorkerService> WorkerService::open(const Context& context, Connection connection,
                                          std::stop_token stop) {
  connection.retries = 0;
  ASSAY_ASSIGN(HttpClient client, HttpClient::open(context, connection));
  return WorkerService(std::move(client), connection.timeout_seconds, std::move(stop));
}

Result<HttpResponse> WorkerService::send(HttpRequest request) {
  if (!request.stop.stop_possible()) {
    request.stop = stop_;
  }
  Result<HttpResponse> response = client_.send(request);
  // An answer that says no comes from the service, too; only silence is no contact.
  if (response || !may_pass(response.error())) {
    on_contact_();
  }
  return response;
}

Result<Bytes> WorkerService::post(const std::string& path, std::string body,
                                  std::string_view type) {
  HttpRequest request;
  request.method = "POST";
  request.path = path;
  request.content_type = body.empty() ? "" : type;
  const ByteView view = as_bytes(body);
  request.body.assign(view.begin(), view.end());
  ASSAY_ASSIGN(HttpResponse response, send(std::move(request)));
  return std::move(response.body);
}

Result<Challenge> WorkerService::challenge(const std::string& node) {
  const Json body = to_json(ChallengeRequest{ChallengePurpose::kEnrol, node});
  ASSAY_ASSIGN(const Bytes answer, post("/v1/challenges", body.dump()));
  ASSAY_ASSIGN(const Json json, json_of(answer));
  return challenge_from_json(json);
}

Result<Enrolled> WorkerService::enrol(ByteView envelope) {
  ASSAY_ASSIGN(const Bytes answer,
               post("/v1/nodes", std::string(as_text(envelope)), kEnvelopeType));
  ASSAY_ASSIGN(const Json json, json_of(answer));
  return enrolled_from_json(json);
}

Result<WorkerService::Answer> WorkerService::lease(const std::string& node,
                                                   const std::stop_token& stop) {
  HttpRequest request;
  request.method = "POST";
  // Half of what a request may take is left for the answer.
  const std::uint64_t wait = std::min(kLongestWait, timeout_seconds_ / 2);
  request.path = "/v1/nodes/" + percent_encode(node) + "/lease?wait=" + std::to_string(wait);
  request.stop = stop;
  ASSAY_ASSIGN(const HttpResponse response, send(std::move(request)));
  if (response.status == 204) {
    return Answer{std::nullopt, response.retry_at_once};
  }
  ASSAY_ASSIGN(JobLease lease, parse_job_lease(response.body));
  return Answer{std::move(lease), false};
}

Status WorkerService::renew(const JobLease& lease, std::chrono::seconds limit) {
  HttpRequest request;
  request.method = "POST";
  request.path = job_path(lease) + ":renew" + token_query(lease);
  request.timeout_seconds = std::min(
      timeout_seconds_, static_cast<std::uint64_t>(std::max<std::int64_t>(1, limit.count())));
  ASSAY_TRY(send(std::move(request)));
  return {};
}

Status WorkerService::give_up(const JobLease& lease, ErrorCode why) {
  HttpRequest request;
  request.method = "POST";
  request.path = job_path(lease) + ":fail" + token_query(lease) +
                 "&code=" + percent_encode(std::string(info(why).code));
  ASSAY_TRY(send(std::move(request)));
  return {};
}

Result<ReportAnswer> WorkerService::submit(const JobLease& lease, const char* what,
                                           const Json& body) {
  ASSAY_ASSIGN(const Bytes answer, post(job_path(lease) + what + token_query(lease), body.dump()));
  return parse_report_answer(answer);
}

Result<ReportAnswer> WorkerService::report(const JobLease& lease, const ReportSubmission& what) {
  return submit(lease, "/report", to_json(what));
}

Result<ReportAnswer> WorkerService::outline(const JobLease& lease, const OutlineSubmission& what) {
  return submit(lease, "/outline", to_json(what));
}

Result<ReportAnswer> WorkerService::spot(const JobLease& lease, const SpotSubmission& what) {
  return submit(lease, "/spot", to_json(what));
}

Result<std::vector<std::string>> WorkerService::manifest_ids(const ArtifactId& artifact,
                                                             const std::string& name) {
  Candidates found;
  std::string cursor;
  for (int page = 0; page < kMaxPages; ++page) {
    Query query;
    query.add("artifact", artifact.text());
    query.add("limit", "1000");
    if (!cursor.empty()) {
      query.add("cursor", cursor);
    }
    HttpRequest list;
    list.path = "/v1/manifests" + query.text();
    ASSAY_ASSIGN(const HttpResponse response, send(std::move(list)));
    ASSAY_ASSIGN(const Json json, json_of(response.body));
    found.look_at(json, artifact, name);
    cursor = text_at(json, "next_cursor");
    if (cursor.empty()) {
      break;
    }
  }
  return found.best_first();
}

// A stored manifest of an earlier form is no manifest any more; another one of the same root says
// the same. Whichever it is, entries and ignore rules are bound by the root.
Result<Manifest> WorkerService::manifest(const ArtifactId& artifact, const std::string& name) {
  constexpr std::size_t kMaxTries = 16;
  ASSAY_ASSIGN(const std::vector<std::string> ids, manifest_ids(artifact, name));
  Result<Manifest> found =
      fail(ErrorCode::kNotFound, "The service has no manifest of " + artifact.text());
  for (std::size_t i = 0; i < std::min(kMaxTries, ids.size()); ++i) {
    ASSAY_ASSIGN(const Statement statement, statement_of(ids[i]));
    found = manifest_from(statement);
    if (found) {
      break;
    }
  }
  if (found) {
    ASSAY_ASSIGN(const ArtifactId own, artifact_id(*found));
    if (own != artifact) {
      return fail(ErrorCode::kRootMismatch, "The service sent the manifest of " + own.text());
    }
  }
  return found;
}

Result<Statement> WorkerService::statement_of(const std::string& id) {
  HttpRequest get;
  get.path = "/v1/manifests/" + percent_encode(id);
  get.accept = kEnvelopeType;
  ASSAY_ASSIGN(const HttpResponse response, send(std::move(get)));
  ASSAY_ASSIGN(const attestation::Envelope envelope, attestation::parse_envelope(response.body));
  return parse_statement(envelope.payload);
}

}  // namespace assay::cli
