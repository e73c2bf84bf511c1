// SPDX-License-Identifier: Apache-2.0
// The loop of the node agent: stay enrolled, lease a job, do it, again.
#pragma once

#include "worker/enrol.h"
#include "worker/job.h"
#include "worker/pace.h"
#include "worker/parts.h"

namespace assay::worker {

enum class Ending : std::uint8_t {
  kStopped,      // on request
  kVerified,     // the one job: the model is what its manifest says
  kNotVerified,  // the one job: the model differs, was not covered, or the report was refused
};

class Agent {
 public:
  explicit Agent(Parts& parts);

  // Runs until drain is requested, with `once` until one job has ended. An error when the service
  // refuses this node for good.
  [[nodiscard]] Result<Ending> run(bool once);

 private:
  [[nodiscard]] Status begin();
  // The next lease, or nothing when there is none yet.
  [[nodiscard]] Result<std::optional<JobLease>> next();
  [[nodiscard]] JobOutcome handle(JobLease lease, Steady::time_point received);
  [[nodiscard]] std::unexpected<Error> ended(const Error& error);
  void wait_after(const char* what, const Error& error);
  // Pauses, but not beyond the time when the enrolment is to be renewed.
  void rest(Steady::duration length);

  Parts& parts_;
  Enroller enroller_;
  Backoff backoff_;
  bool hurried_ = false;  // the service said that there is a job, and was asked again at once
};

// How a run of one job ends with this outcome; the error of a job without a result.
[[nodiscard]] Result<Ending> ending_of(const JobOutcome& outcome);

}  // namespace assay::worker
