// SPDX-License-Identifier: Apache-2.0
// Verification jobs. A caller creates a job, the node's worker leases it, and the worker's report
// (a signed account of what the worker read) ends it (report.h; docs/design.md, "Nodes"). A job is
// leased to one worker at a time; only the token of the newest lease is valid.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "schemas/job.h"
#include "server/service/services.h"

namespace assay::server {

// Limit on the number of leases of one job. The job fails when the last of them is lost.
inline constexpr std::uint64_t kMaxAttempts = 5;
// Limit on the open jobs of one node. Further jobs are refused.
inline constexpr std::size_t kMaxOpenJobs = 1000;
// How long a lease can be renewed, and how long its challenge is valid. Therefore the lease of an
// accepted report began at most this long ago.
inline constexpr std::chrono::hours kMaxLeaseTime{6};
// Longest time that a call may wait for a job.
inline constexpr std::chrono::seconds kMaxLeaseWait{25};
// Limit on the number of differences that the detail of a finished job lists. The same limit
// applies separately to the number of byte ranges of all these differences together.
inline constexpr std::size_t kMaxListed = 1000;
// Limit on the outline digests (inner nodes of the artifact's tree) that one answer asks for.
inline constexpr std::uint64_t kMaxOutlineDigests = 200'000;

// A job that was created or found.
struct JobCreated {
  storage::JobRow job;
  bool created;  // false: the same job was open already
};
// Creates a job, or returns the same job of the same actor if that is still queued. Errors:
// not-found when no trusted publisher signed a manifest of the artifact; reference-unbound when no
// trusted manifest or placement (references/resolve.h) names the location; invalid-parameter when
// the location is ambiguous, or for entries that the artifact does not have; node-not-enrolled;
// node-revoked; enrolment-ended; enrolment-expired; overloaded beyond kMaxOpenJobs; busy as
// load_artifact_in_turn() (documents/outlines.h).
[[nodiscard]] Result<JobCreated> create_job(Services& services, const JobRequest& request,
                                            const Principal& actor);

// Creates a job on all entries for the service itself, with a write to `store` (Services::store or
// a handle of it). If a job for the same work is open, returns that job instead. Returns nullopt,
// and creates no job, when a recent job for the same work shows that a new job would fail, too.
// This is so when the recent job ended less than a minute ago without a report, or less than ten
// minutes ago with a report about the wrong volume. The volume is wrong if `cluster` already had
// another volume behind the claim when the recent job was created. Errors: as create_job.
[[nodiscard]] Result<std::optional<JobCreated>> order_job(Services& services, storage::Store& store,
                                                          const JobRequest& request,
                                                          const std::string& cluster);

// The answer to a worker that asks for a job.
struct LeaseAnswer {
  enum class Next : std::uint8_t {
    kWork,      // `lease` is set
    kAsk,       // no job so far: ask again
    kAskNow,    // a job arrived during the wait: ask again at once
    kAskLater,  // no job, and too many callers wait: ask later
  };
  std::optional<JobLease> lease;
  Next next = Next::kAsk;
};
// Leases the next job of the node. Without a job, waits up to `wait`, at most kMaxLeaseWait. A job
// that arrives during the wait is not leased: the answer is kAskNow, because the waiting worker may
// be gone. A job whose lease has expired is leased again; after kMaxAttempts leases, this call ends
// the job instead. Errors: node-not-enrolled; node-taken; node-revoked; enrolment-ended;
// enrolment-expired.
[[nodiscard]] Result<LeaseAnswer> lease_job(Services& services, const std::string& node,
                                            const Principal& actor, std::chrono::milliseconds wait);

// A worker's claim to hold the lease of a job.
struct LeaseCall {
  std::string job;
  std::uint64_t token;
  const Principal& actor;
};

// Renews a lease and returns its new end. Errors: lease-lost; the errors of own_job and
// require_active.
[[nodiscard]] Result<Timestamp> renew_lease(Services& services, const LeaseCall& call);

// Gives a job back whose device failed (`why` device-failed): its lease ends now, and it can be
// leased again. Ends a job that the worker cannot do at all (`why` location-unmapped,
// pod-volume-missing or instance-missing), and one that was leased kMaxAttempts times. If no report
// has arrived, the job fails with `why`; otherwise it ends as after
// a lost lease. `cause` is the code with which the node agent refused the last registration of the
// instance, for people; empty: none. Errors: invalid-parameter for another `why`; those of
// renew_lease.
[[nodiscard]] Status fail_job(Services& services, const LeaseCall& call, ErrorCode why,
                              std::string_view cause = {});

// Returns the JobView of schemas/openapi.yaml.
[[nodiscard]] Json job_view(const storage::JobRow& job);

}  // namespace assay::server
