// SPDX-License-Identifier: Apache-2.0
// The loop of the node agent: keeps the node enrolled, leases a job, does the job, and leases the
// next job.
#pragma once

#include "worker/enrol.h"
#include "worker/job.h"
#include "worker/parts.h"
#include "worker/renewal_and_backoff.h"

namespace assay::worker {

enum class Ending : std::uint8_t {
  kStopped,      // on request
  kVerified,     // with `once`: the model matches its manifest
  kNotVerified,  // with `once`: the model differs, was not read whole, or the report was refused
};

class Agent {
 public:
  explicit Agent(Parts& parts);

  // Runs until Parts::drain is requested. With `once`, runs until one job has ended. Returns an
  // error when the service refuses this node permanently.
  [[nodiscard]] Result<Ending> run(bool once);

 private:
  [[nodiscard]] Status begin();
  // Returns the next lease, or nullopt when the service has no job yet.
  [[nodiscard]] Result<std::optional<JobLease>> next();
  [[nodiscard]] JobOutcome handle(JobLease lease, Steady::time_point received);
  [[nodiscard]] std::unexpected<Error> ended(const Error& error);
  void wait_after(const char* what, const Error& error, Backoff& backoff);
  // Pauses, but no longer than until the renewal of the enrolment is due.
  void rest(Steady::duration length);

  Parts& parts_;
  Enroller enroller_;
  Backoff backoff_;
  Backoff failed_;        // grows while jobs fail one after the other
  bool hurried_ = false;  // the last request was repeated at once, because a job was announced
};

// Returns how Agent::run() ends when its only job had this outcome. Returns the error of `outcome`
// when the job has no result.
[[nodiscard]] Result<Ending> ending_of(const JobOutcome& outcome);

}  // namespace assay::worker
