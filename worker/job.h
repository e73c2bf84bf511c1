// SPDX-License-Identifier: Apache-2.0
// One leased job: hash, report, answer what the service asks next (docs/design.md, "Nodes").
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "worker/enrol.h"
#include "worker/instances/model.h"
#include "worker/model.h"
#include "worker/pace.h"
#include "worker/parts.h"

namespace assay::worker {

// How a job ended here. "verified", "mismatch" and "incomplete" are what the service recorded.
// "lost": the lease went, or it is unknown whether the service took the report; "refused": the
// service took no report; "unmapped": this node has no such place, the service knows and the job
// has ended; "failed": hashing did not work; "stopped": given up on request. After the last four
// the lease runs out, and the service gives the job out again.
struct JobOutcome {
  std::string_view result;
  std::optional<Error> error;
};

class LeasedJob {
 public:
  // `received` is when the lease came.
  LeasedJob(Parts& parts, Enroller& enroller, JobLease lease, Steady::time_point received);

  [[nodiscard]] JobOutcome run();

 private:
  [[nodiscard]] Result<ReportAnswer::State> work();
  [[nodiscard]] Status check_lease() const;
  // Where to read; ends the job when this node has no such place.
  [[nodiscard]] Status find_place();
  [[nodiscard]] Status tend();
  [[nodiscard]] Status renew();
  // Runs `work` in a thread of its own and keeps lease and enrolment alive meanwhile. `work` is
  // stopped, and awaited, when one of them is lost.
  [[nodiscard]] Status aside(const std::function<void(const std::stop_token&)>& work);
  // Calls the service until it answers, as long as the lease holds.
  template <typename Call>
  [[nodiscard]] auto insist(const char* what, const Call& call) -> decltype(call());

  [[nodiscard]] Result<VerificationReport> inspect(const Manifest& manifest);
  // What of the report does not depend on what is read.
  [[nodiscard]] VerificationReport begin_report(const Manifest& manifest) const;
  [[nodiscard]] Status read_files(const Manifest& manifest, VerificationReport& report);
  [[nodiscard]] Result<NodeModel::Hashed> look(const Manifest& manifest,
                                               const std::stop_token& stop);
  // Of scope device-memory: job_memory.cc.
  [[nodiscard]] Status read_memory(const Manifest& manifest, VerificationReport& report);
  [[nodiscard]] Result<std::vector<OutlineSubmission::Item>> outline(const ReportAnswer& wanted,
                                                                     const std::stop_token& stop);
  // Tells the owners of the memory what became of the report, and goes on watching what is right.
  void conclude(const ReportAnswer& answer, const ReportSubmission& submission);
  [[nodiscard]] Result<ReportSubmission> sign(const VerificationReport& report);
  [[nodiscard]] Result<ReportAnswer> send_outline(const ReportAnswer& wanted);
  [[nodiscard]] Result<ReportAnswer> send_spots(const ReportAnswer& wanted);

  Parts& parts_;
  Enroller& enroller_;
  JobLease lease_;
  Term term_;
  Backoff backoff_;
  Place place_;
  std::optional<NodeModel> model_;           // of scope files
  std::shared_ptr<InstanceModel> instance_;  // of scope device-memory
  std::vector<Entry> found_;                 // in it
  std::vector<Finding> findings_;            // in it
  bool refused_ = false;                     // the last error is an answer of the service
};

}  // namespace assay::worker
