// SPDX-License-Identifier: Apache-2.0
// What the steps of a job share. Internal to this folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schemas/verification_report.h"
#include "server/service/jobs/jobs.h"

namespace assay::server {

inline constexpr std::string_view kVerified = "verified";
inline constexpr std::string_view kMismatch = "mismatch";
inline constexpr std::string_view kIncomplete = "incomplete";
inline constexpr std::string_view kFailed = "failed";

// What JobRow::pending holds while a job is leased. Beyond `leased_at` it is set once a report is
// in. A spot check that nobody answered before its lease ended is kept, with its report, for the
// leases after it: `report` of a job that waits for a report is such an earlier one.
struct Pending {
  std::string nonce;  // hex, of the lease's challenge: older ones of the same job do not count
  Timestamp leased_at;
  std::optional<DocumentId> report;  // envelope
  std::optional<Timestamp> reported_at;
  std::optional<Timestamp> read_since;  // leased_at of the lease whose nonce the report answers
  std::string volume;                   // that the report names
  std::optional<DocumentId> appraisal;  // of its evidence
  bool worker_measured = false;
  Json detail = Json::object();          // of the job once it is finished
  std::vector<Json> differences;         // see Difference
  std::vector<std::size_t> localisable;  // of `differences`: those that `answer` asks about
  std::optional<ReportAnswer> answer;    // what the worker was asked for
  std::vector<SpotSpan> drawn;           // of the spot check; once a job, whoever leases it
  std::vector<Digest> expected;          // answers to the spot check
};
[[nodiscard]] Json to_json(const Pending& pending);
[[nodiscard]] Result<Pending> pending_from(const storage::JobRow& job);

// The job and its node, when they are the actor's: not-found, node-taken.
struct OwnJob {
  storage::JobRow job;
  storage::NodeRow node;
};
[[nodiscard]] Result<OwnJob> own_job(storage::Snapshot& snapshot, const LeaseCall& call);

// The pod whose own mount the job is about, and the instance whose memory it is about.
[[nodiscard]] std::optional<JobPod> pod_of(const storage::JobRow& job);
[[nodiscard]] std::optional<JobInstance> instance_of(const storage::JobRow& job);

// lease-lost unless the lease with this token runs at `now`.
[[nodiscard]] Status require_lease(const storage::JobRow& job, std::uint64_t token, Timestamp now);

// Reads job and node again inside a write: they are what they were, the lease runs, the node
// counts.
[[nodiscard]] Result<OwnJob> still_own(storage::Transaction& transaction, const LeaseCall& call,
                                       Timestamp now);

// How a job ends.
struct Ending {
  std::string_view result;
  Json detail;
  std::string_view code;  // error code of a failed job; empty otherwise
};
// Writes the row, with the report of `pending` if one is in, and its record: report.accepted for
// what a report ended, else job.finished.
[[nodiscard]] Status finish(storage::Transaction& transaction, storage::JobRow job,
                            const Pending& pending, Ending ending, const std::string& actor);

// How a job ends that nobody works on any more; `code` says why when no report is in. A report that
// is in stands: one that differs as it is, since only where it differs was still to be said; one
// whose spot check nobody answered as if the answers had been wrong, or silence would be a way out.
[[nodiscard]] Ending lost_ending(const storage::JobRow& job, const Pending& pending,
                                 ErrorCode code);

// The detail of a job that ended with a mismatch.
[[nodiscard]] Json mismatch_detail(const Pending& pending);

}  // namespace assay::server
