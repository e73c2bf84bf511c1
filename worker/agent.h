// SPDX-License-Identifier: Apache-2.0
// The loop of the node agent: stay enrolled, lease a job, do it, again.
#pragma once

#include "worker/enrol.h"
#include "worker/job.h"
#include "worker/pace.h"
#include "worker/parts.h"

namespace assay::cli {

class WorkerAgent {
 public:
  explicit WorkerAgent(WorkerParts& parts);

  // Until drain is requested: yes then. With `once` until one job ended: yes when the model was
  // verified, no when it differs, was not covered, or the report was refused. An error when the
  // service refuses this node for good.
  [[nodiscard]] Result<Exit> run(bool once);

 private:
  [[nodiscard]] Status begin();
  // The next lease, or nothing when there is none yet.
  [[nodiscard]] Result<std::optional<JobLease>> next();
  [[nodiscard]] JobOutcome handle(JobLease lease, Steady::time_point received);
  [[nodiscard]] std::unexpected<Error> ended(const Error& error);
  void wait_after(const char* what, const Error& error);
  // Pauses, but not beyond the time when the enrolment is to be renewed.
  void rest(Steady::duration length);

  WorkerParts& parts_;
  Enroller enroller_;
  Backoff backoff_;
  bool hurried_ = false;  // the service said that there is a job, and was asked again at once
};

// The exit status that --once gives for a job.
[[nodiscard]] Result<Exit> exit_of(const JobOutcome& outcome);

}  // namespace assay::cli
