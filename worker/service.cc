// SPDX-License-Identifier: Apache-2.0
#include "worker/service.h"

#include <algorithm>
#include <utility>

#include "attestation/dsse.h"
#include "client/answers.h"
#include "client/api.h"
#include "schemas/core/json_at.h"
#include "schemas/core/random.h"
#include "worker/renewal_and_backoff.h"

namespace assay::worker {

namespace {

// More pages of manifests of one artifact than a service keeps statements.
constexpr int kMaxPages = 1000;
// The service lets nobody wait longer than 25 s.
constexpr std::uint64_t kLongestWait = 20;

std::string job_path(const JobLease& lease) {
  return "/v1/jobs/" + client::percent_encode(lease.job);
}

std::string token_query(const JobLease& lease) { return "?lease=" + std::to_string(lease.token); }

Result<Timestamp> time_at(const Json& json, const char* member) {
  return parse_rfc3339(client::text_at(json, member));
}

// The manifests to go by, once all pages were looked at: those with the name of the job before
// others, the newest first. The service lists the oldest first, and with them manifests of other
// roots that name the artifact as one more digest.
struct Candidates {
  std::vector<std::string> named;
  std::vector<std::string> other;

  void look_at(const Json& items, const ArtifactId& artifact, const std::string& name) {
    for (const Json& item : items) {
      if (client::text_at(item, "artifact") == artifact.text()) {
        (client::text_at(item, "name") == name ? named : other)
            .push_back(client::text_at(item, "id"));
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
  enrolled.key_id = client::text_at(json, "key_id");
  const auto measured = json.find("worker_measured");
  enrolled.worker_measured =
      measured != json.end() && measured->is_boolean() && measured->get<bool>();
  enrolled.tcb_status = client::text_at(json, "tcb_status");
  if (const auto before = json.find("superseded"); before != json.end() && before->is_object()) {
    enrolled.superseded = client::text_at(*before, "key_id");
  }
  return enrolled;
}

Result<ServeAnswer> serve_answer_from_json(const Json& json, const ServeQuestion& question) {
  const Json& selected = member_at(json, "selected");
  const Json& decision = member_at(json, "decision");
  if (!selected.is_boolean()) {
    return fail(ErrorCode::kSchemaViolation, "The answer does not say whether a policy applies",
                "/selected");
  }
  if (!selected.get<bool>()) {
    return ServeAnswer{};
  }
  const Json& verdict = member_at(decision, "verdict");
  const Json& allowed = member_at(verdict, "allowed");
  const Json& dry_run = member_at(decision, "dry_run");
  const Json& request = member_at(decision, "request");
  const bool asked = allowed.is_boolean() && dry_run.is_boolean() &&
                     dry_run.get<bool>() == question.dry_run &&
                     client::text_at(decision, "point") == "serve" &&
                     client::text_at(request, "cluster") == question.cluster &&
                     client::text_at(request, "pod_uid") == question.pod &&
                     client::text_at(request, "node") == question.node;
  ServeAnswer answer{true, asked && allowed.get<bool>(), client::text_at(decision, "id"), {}};
  if (!asked || !is_uuid_v7(answer.id)) {
    return fail(ErrorCode::kSchemaViolation, "The answer is no decision about this pod",
                "/decision");
  }
  for (const Json& reason : client::list_at(verdict, "reasons")) {
    answer.reasons.push_back(reason.is_string() ? reason.get<std::string>() : std::string());
  }
  if (verdict.contains("valid_until")) {
    ASSAY_ASSIGN(answer.valid_until, time_at(verdict, "valid_until"));
  }
  return answer;
}

Result<Service> Service::open(client::Caller caller, client::Connection connection,
                              std::stop_token stop) {
  connection.retries = 0;
  ASSAY_ASSIGN(client::HttpClient client, client::HttpClient::open(std::move(caller), connection));
  return Service(std::move(client), connection.timeout_seconds, std::move(stop));
}

Result<client::HttpResponse> Service::send(client::HttpRequest request) {
  if (!request.stop.stop_possible()) {
    request.stop = stop_;
  }
  Result<client::HttpResponse> response = client_.send(request);
  // An answer that says no comes from the service, too; only silence is no contact.
  if (response || !may_pass(response.error())) {
    on_contact_();
  }
  return response;
}

Result<Bytes> Service::post(const std::string& path, const std::string& body,
                            std::string_view type) {
  client::HttpRequest request;
  request.method = "POST";
  request.path = path;
  request.content_type = body.empty() ? "" : type;
  const ByteView view = as_bytes(body);
  request.body.assign(view.begin(), view.end());
  ASSAY_ASSIGN(client::HttpResponse response, send(std::move(request)));
  return std::move(response.body);
}

Result<Challenge> Service::challenge(const std::string& node) {
  const Json body = to_json(ChallengeRequest{ChallengePurpose::kEnrol, node});
  ASSAY_ASSIGN(const Bytes answer, post("/v1/challenges", body.dump()));
  ASSAY_ASSIGN(const Json json, client::json_of(answer));
  return json::get<Challenge>(json);
}

Result<Enrolled> Service::enrol(ByteView envelope) {
  ASSAY_ASSIGN(const Bytes answer,
               post("/v1/nodes", std::string(as_text(envelope)), client::kEnvelopeType));
  ASSAY_ASSIGN(const Json json, client::json_of(answer));
  return enrolled_from_json(json);
}

Result<Service::Answer> Service::lease(const std::string& node, const std::stop_token& stop) {
  client::HttpRequest request;
  request.method = "POST";
  // Half of what a request may take is left for the answer.
  const std::uint64_t wait = std::min(kLongestWait, timeout_seconds_ / 2);
  request.path =
      "/v1/nodes/" + client::percent_encode(node) + "/lease?wait=" + std::to_string(wait);
  request.stop = stop;
  ASSAY_ASSIGN(const client::HttpResponse response, send(std::move(request)));
  if (response.status == 204) {
    return Answer{std::nullopt, response.retry_at_once};
  }
  ASSAY_ASSIGN(JobLease lease, parse_job_lease(response.body));
  return Answer{std::move(lease), false};
}

Status Service::renew(const JobLease& lease, std::chrono::seconds limit) {
  client::HttpRequest request;
  request.method = "POST";
  request.path = job_path(lease) + ":renew" + token_query(lease);
  request.timeout_seconds = std::min(
      timeout_seconds_, static_cast<std::uint64_t>(std::max<std::int64_t>(1, limit.count())));
  ASSAY_TRY(send(std::move(request)));
  return {};
}

Status Service::give_up(const JobLease& lease, ErrorCode why, const std::string& refused) {
  client::HttpRequest request;
  request.method = "POST";
  request.path = job_path(lease) + ":fail" + token_query(lease) +
                 "&code=" + client::percent_encode(std::string(info(why).code));
  if (!refused.empty()) {
    request.path += "&refused=" + client::percent_encode(refused);
  }
  ASSAY_TRY(send(std::move(request)));
  return {};
}

Result<ReportAnswer> Service::submit(const JobLease& lease, const char* what, const Json& body) {
  ASSAY_ASSIGN(const Bytes answer, post(job_path(lease) + what + token_query(lease), body.dump()));
  return parse_report_answer(answer);
}

Result<ReportAnswer> Service::report(const JobLease& lease, const ReportSubmission& what) {
  return submit(lease, "/report", to_json(what));
}

Result<ReportAnswer> Service::outline(const JobLease& lease, const OutlineSubmission& what) {
  return submit(lease, "/outline", to_json(what));
}

Result<ReportAnswer> Service::spot(const JobLease& lease, const SpotSubmission& what) {
  return submit(lease, "/spot", to_json(what));
}

Result<HeartbeatAnswer> Service::heartbeat(const std::string& node, ByteView envelope) {
  ASSAY_ASSIGN(const Bytes answer, post("/v1/nodes/" + client::percent_encode(node) + "/heartbeat",
                                        std::string(as_text(envelope)), client::kEnvelopeType));
  return parse_heartbeat_answer(answer);
}

Result<ServeAnswer> Service::decide(const ServeQuestion& question) {
  const Json body = {{"point", "serve"},
                     {"dry_run", question.dry_run},
                     {"node", question.node},
                     {"pod", {{"cluster", question.cluster}, {"uid", question.pod}}}};
  ASSAY_ASSIGN(const Bytes answer, post("/v1/decisions", body.dump()));
  ASSAY_ASSIGN(const Json json, client::json_of(answer));
  return serve_answer_from_json(json, question);
}

Result<std::vector<std::string>> Service::manifest_ids(const ArtifactId& artifact,
                                                       const std::string& name) {
  Candidates found;
  client::Query query;
  query.add("artifact", artifact.text());
  int pages = 0;
  const auto fetch = [&](const std::string& path) -> Result<Json> {
    if (++pages > kMaxPages) {
      return fail(ErrorCode::kLimitExceeded, "The service lists more manifests than it can keep");
    }
    client::HttpRequest request;
    request.path = path;
    ASSAY_ASSIGN(const client::HttpResponse response, send(std::move(request)));
    return client::json_of(response.body);
  };
  ASSAY_TRY(client::each_page(fetch, "/v1/manifests", query, std::nullopt,
                              [&](const Json& items) { found.look_at(items, artifact, name); }));
  return found.best_first();
}

// A stored manifest of an earlier form is no manifest any more; another one of the same root says
// the same. Whichever it is, entries and ignore rules are bound by the root.
Result<Manifest> Service::manifest(const ArtifactId& artifact, const std::string& name) {
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

Result<Statement> Service::statement_of(const std::string& id) {
  client::HttpRequest get;
  get.path = "/v1/manifests/" + client::percent_encode(id);
  get.accept = client::kEnvelopeType;
  ASSAY_ASSIGN(const client::HttpResponse response, send(std::move(get)));
  ASSAY_ASSIGN(const attestation::Envelope envelope, attestation::parse_envelope(response.body));
  return parse_statement(envelope.payload);
}

}  // namespace assay::worker
