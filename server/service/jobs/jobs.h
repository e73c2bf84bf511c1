// SPDX-License-Identifier: Apache-2.0
// Verification jobs: created by who wants to know, leased by the node's worker, ended by a report
// (report.h; docs/design.md, "Nodes"). A job is leased to one worker at a time; the token of the
// newest lease is the only one that counts.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "schemas/job.h"
#include "server/service/services.h"

namespace assay::server {

// Leases of one job; when the last is lost the job has failed.
inline constexpr std::uint64_t kMaxAttempts = 5;
// Open jobs of one node; more are refused.
inline constexpr std::size_t kMaxOpenJobs = 1000;
// How long a lease can be renewed, and how long its challenge is good: a report is never older.
inline constexpr std::chrono::hours kMaxLeaseTime{6};
// Longest wait for a job.
inline constexpr std::chrono::seconds kMaxLeaseWait{25};
// Items that the detail of a finished job lists: differences, and byte ranges in all of them.
inline constexpr std::size_t kMaxListed = 1000;
// Outline digests that one answer asks for.
inline constexpr std::uint64_t kMaxOutlineDigests = 200'000;

struct JobCreated {
  storage::JobRow job;
  bool created;  // false: the same job waits for its worker already
};
// not-found without a manifest that a trusted publisher signed, reference-unbound when none names
// the location, invalid-parameter when the request leaves open which is meant; node-not-enrolled,
// node-revoked, enrolment-expired; invalid-parameter for entries that the artifact does not have;
// overloaded beyond kMaxOpenJobs.
[[nodiscard]] Result<JobCreated> create_job(Services& services, const JobRequest& request,
                                            const Principal& actor);

// As create_job, for the service itself: any open job about the same is enough, and so is one that
// ended without a report less than a minute ago (nothing then), or less than ten minutes ago with
// one about another volume than `cluster` has had behind the claim since before. On all entries.
[[nodiscard]] Result<std::optional<JobCreated>> order_job(Services& services,
                                                          const JobRequest& request,
                                                          const std::string& cluster);

struct LeaseAnswer {
  enum class Next : std::uint8_t {
    kWork,      // there is a lease
    kAsk,       // nothing to do so far
    kAskNow,    // there is a job now
    kAskLater,  // nothing to do, and no room to wait
  };
  std::optional<JobLease> lease;
  Next next = Next::kAsk;
};
// The next job of the node. Without one it waits up to `wait` until there is one, and says so: a
// job is given to those alone who ask when it is there, because whoever waited may be gone. Jobs
// whose lease ran out come again; those without attempts left end here. node-not-enrolled,
// node-taken, node-revoked, enrolment-expired.
[[nodiscard]] Result<LeaseAnswer> lease_job(Services& services, const std::string& node,
                                            const Principal& actor, std::chrono::milliseconds wait);

// A worker's claim that it has the job.
struct LeaseCall {
  std::string job;
  std::uint64_t token;
  const Principal& actor;
};

// The new end of the lease. lease-lost, and the errors of lease_job.
[[nodiscard]] Result<Timestamp> renew_lease(Services& services, const LeaseCall& call);

// The worker cannot do the job, now and later: location-unmapped, pod-volume-missing or
// instance-missing. Ends it as failed; a report of it that is in stands as when its lease is lost.
// invalid-parameter for another code, and the errors of renew_lease.
[[nodiscard]] Status fail_job(Services& services, const LeaseCall& call, ErrorCode why);

// The JobView of schemas/openapi.yaml.
[[nodiscard]] Json job_view(const storage::JobRow& job);

}  // namespace assay::server
