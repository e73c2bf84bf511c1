// SPDX-License-Identifier: Apache-2.0
// The requests of the node agent to the service: challenges, enrolment, leases, reports. Requests
// are sent one at a time. Each request is sent once, because the caller decides when to try again.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "client/http_client.h"
#include "schemas/challenge.h"
#include "schemas/heartbeat.h"
#include "schemas/job.h"
#include "schemas/manifest.h"
#include "schemas/verification_report.h"

namespace assay::worker {

// The service's answer to an enrolment that it accepted.
struct Enrolled {
  std::string key_id;
  std::chrono::milliseconds length{};  // how long the enrolment is valid
  Timestamp expires_at;
  bool worker_measured = false;
  std::string tcb_status;
  std::string superseded;  // key id of a live worker that this enrolment replaced; empty: none
};
// Reads the answer of POST /v1/nodes. Errors: schema-violation.
[[nodiscard]] Result<Enrolled> enrolled_from_json(const Json& json);

// A decision about a pod at `serve`, as far as the node agent shows it.
struct ServeAnswer {
  bool selected = false;  // a policy selects the pod; if false, the rest says nothing
  bool allowed = false;
  std::string id;                    // of the decision; of a dry run nothing keeps it
  std::vector<std::string> reasons;  // codes of a deny
  std::optional<Timestamp> valid_until{};
};
// Reads the answer of POST /v1/decisions about this question, and about no other one. Errors:
// schema-violation.
struct ServeQuestion {
  std::string cluster;  // name of the principal through which the pod's API server asks
  std::string pod;      // uid
  std::string node;
  bool dry_run = false;
};
[[nodiscard]] Result<ServeAnswer> serve_answer_from_json(const Json& json,
                                                         const ServeQuestion& question);

class Service {
 public:
  // Makes a client of the service. `stop` ends every running request.
  [[nodiscard]] static Result<Service> open(client::Caller caller, client::Connection connection,
                                            std::stop_token stop);

  // Sets a function that is called after each answer of the service, even after an error.
  void on_contact(std::function<void()> call) { on_contact_ = std::move(call); }

  [[nodiscard]] Result<Challenge> challenge(const std::string& node);
  [[nodiscard]] Result<Enrolled> enrol(ByteView envelope);

  struct Answer {
    std::optional<JobLease> lease;
    bool ask_again = false;  // true: there is a job, and the next request may get it
  };
  // Asks for a job. When there is no job, waits as long as the service keeps the request open.
  // `stop` ends the wait with the error cancelled.
  [[nodiscard]] Result<Answer> lease(const std::string& node, const std::stop_token& stop);
  // Renews a lease. Waits for the answer no longer than `limit`, but at least a second.
  [[nodiscard]] Status renew(const JobLease& lease, std::chrono::seconds limit);

  // Ends the job, because this node cannot do it. `why` is location-unmapped, pod-volume-missing or
  // instance-missing. With device-failed, gives the job back. `refused` is the code with which a
  // registration of the instance was refused; empty: none was.
  [[nodiscard]] Status give_up(const JobLease& lease, ErrorCode why, const std::string& refused);

  [[nodiscard]] Result<ReportAnswer> report(const JobLease& lease, const ReportSubmission& what);
  [[nodiscard]] Result<ReportAnswer> outline(const JobLease& lease, const OutlineSubmission& what);
  [[nodiscard]] Result<ReportAnswer> spot(const JobLease& lease, const SpotSubmission& what);

  // Sends an envelope that contains a heartbeat (schemas/heartbeat.h).
  [[nodiscard]] Result<HeartbeatAnswer> heartbeat(const std::string& node, ByteView envelope);

  // Asks whether a pod of this node may serve. Needs the role decider.
  [[nodiscard]] Result<ServeAnswer> decide(const ServeQuestion& question);

  // Returns the newest stored manifest of the artifact with this name, or else the newest manifest
  // of the artifact with any name. Checks that the manifest's entries lead to the artifact's root.
  // Does not check signatures, because the service checks them. Errors: not-found, root-mismatch.
  [[nodiscard]] Result<Manifest> manifest(const ArtifactId& artifact, const std::string& name);

 private:
  Service(client::HttpClient client, std::uint64_t timeout, std::stop_token stop)
      : client_(std::move(client)), timeout_seconds_(timeout), stop_(std::move(stop)) {}

  [[nodiscard]] Result<client::HttpResponse> send(client::HttpRequest request);
  [[nodiscard]] Result<std::vector<std::string>> manifest_ids(const ArtifactId& artifact,
                                                              const std::string& name);
  [[nodiscard]] Result<Statement> statement_of(const std::string& id);
  [[nodiscard]] Result<Bytes> post(const std::string& path, const std::string& body,
                                   std::string_view type = client::kJsonType);
  [[nodiscard]] Result<ReportAnswer> submit(const JobLease& lease, const char* what,
                                            const Json& body);

  client::HttpClient client_;
  std::uint64_t timeout_seconds_;
  std::stop_token stop_;
  std::function<void()> on_contact_ = [] {};
};

}  // namespace assay::worker
