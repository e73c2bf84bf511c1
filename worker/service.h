// SPDX-License-Identifier: Apache-2.0
// The service as the node agent sees it: challenges, enrolment, leases, reports. One request at a
// time, each tried once: who calls knows when and whether to try again.
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

// What the service says of an enrolment that it took.
struct Enrolled {
  std::string key_id;
  std::chrono::milliseconds length{};  // how long it holds
  Timestamp expires_at;
  bool worker_measured = false;
  std::string tcb_status;
  std::string superseded;  // id of the key of a live worker that had the name; empty: none
};
// Reads the answer of POST /v1/nodes. schema-violation.
[[nodiscard]] Result<Enrolled> enrolled_from_json(const Json& json);

class Service {
 public:
  // `stop` ends every request that is under way.
  [[nodiscard]] static Result<Service> open(client::Caller caller, client::Connection connection,
                                            std::stop_token stop);

  // Called after each answer of the service, whatever it says.
  void on_contact(std::function<void()> call) { on_contact_ = std::move(call); }

  [[nodiscard]] Result<Challenge> challenge(const std::string& node);
  [[nodiscard]] Result<Enrolled> enrol(ByteView envelope);

  struct Answer {
    std::optional<JobLease> lease;
    bool ask_again = false;  // there is a job now
  };
  // Asks for a job; without one, waits for as long as the service lets one wait. `stop` ends the
  // wait with cancelled.
  [[nodiscard]] Result<Answer> lease(const std::string& node, const std::stop_token& stop);
  // An answer is waited for no longer than `limit`.
  [[nodiscard]] Status renew(const JobLease& lease, std::chrono::seconds limit);

  // Says that this node cannot do the job: location-unmapped, pod-volume-missing. Ends it.
  [[nodiscard]] Status give_up(const JobLease& lease, ErrorCode why);

  [[nodiscard]] Result<ReportAnswer> report(const JobLease& lease, const ReportSubmission& what);
  [[nodiscard]] Result<ReportAnswer> outline(const JobLease& lease, const OutlineSubmission& what);
  [[nodiscard]] Result<ReportAnswer> spot(const JobLease& lease, const SpotSubmission& what);

  // Sends an envelope with a heartbeat.
  [[nodiscard]] Result<HeartbeatAnswer> heartbeat(const std::string& node, ByteView envelope);

  // The newest stored manifest of the artifact with this name, else the newest: its entries lead to
  // the artifact's root. Its signatures are the service's business. not-found, root-mismatch.
  [[nodiscard]] Result<Manifest> manifest(const ArtifactId& artifact, const std::string& name);

 private:
  Service(client::HttpClient client, std::uint64_t timeout, std::stop_token stop)
      : client_(std::move(client)), timeout_seconds_(timeout), stop_(std::move(stop)) {}

  [[nodiscard]] Result<client::HttpResponse> send(client::HttpRequest request);
  [[nodiscard]] Result<std::vector<std::string>> manifest_ids(const ArtifactId& artifact,
                                                              const std::string& name);
  [[nodiscard]] Result<Statement> statement_of(const std::string& id);
  [[nodiscard]] Result<Bytes> post(const std::string& path, std::string body,
                                   std::string_view type = client::kJsonType);
  [[nodiscard]] Result<ReportAnswer> submit(const JobLease& lease, const char* what,
                                            const Json& body);

  client::HttpClient client_;
  std::uint64_t timeout_seconds_;
  std::stop_token stop_;
  std::function<void()> on_contact_ = [] {};
};

}  // namespace assay::worker
