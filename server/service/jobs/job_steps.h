// SPDX-License-Identifier: Apache-2.0
// Helpers shared by the steps of a job. Internal to this folder.
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

// The content of JobRow::pending while a job is leased. The members after `leased_at` are set when
// a report has arrived. A spot check (spot_check.h) that was not answered before the lease ended is
// kept, with the report, for the next lease. Therefore a job that waits for a report may already
// have the `report` of an earlier lease.
struct Pending {
  std::string nonce;  // hex; of the newest lease's challenge; older nonces are invalid
  Timestamp leased_at;
  std::optional<DocumentId> report;  // digest of the report's envelope
  std::optional<Timestamp> reported_at;
  std::optional<Timestamp> read_since;  // leased_at of the lease whose nonce the report answers
  std::string volume;                   // volume that the report names
  std::optional<DocumentId> appraisal;  // appraisal of the report's evidence
  bool worker_measured = false;
  Json detail = Json::object();   // detail of the job once finished
  std::vector<Json> differences;  // see Difference
  // Indexes of `differences` whose byte ranges `answer` asks for.
  std::vector<std::size_t> localisable;
  std::optional<ReportAnswer> answer;  // what the worker was asked for
  // Spans of the spot check, drawn once for all leases of the job.
  std::vector<SpotSpan> drawn;
  std::vector<Digest> expected;  // right answers to the spot check
};
[[nodiscard]] Json to_json(const Pending& pending);
[[nodiscard]] Result<Pending> pending_from(const storage::JobRow& job);

// A job and its node, both of which belong to the actor of a call.
struct OwnJob {
  storage::JobRow job;
  storage::NodeRow node;
};
// Returns the job and its node if both belong to `call.actor`. Errors: not-found; node-taken.
[[nodiscard]] Result<OwnJob> own_job(storage::Snapshot& snapshot, const LeaseCall& call);

// Return the pod whose mount the job is about, and the model instance whose memory the job is about
// (docs/instances.md). Return nullopt when the job is about something else.
[[nodiscard]] std::optional<JobPod> pod_of(const storage::JobRow& job);
[[nodiscard]] std::optional<JobInstance> instance_of(const storage::JobRow& job);

// Returns whether a job that nobody holds can be leased once more.
[[nodiscard]] bool can_lease(const storage::JobRow& job);

// Checks that the lease with this token is valid at `now`. Errors: lease-lost.
[[nodiscard]] Status require_lease(const storage::JobRow& job, std::uint64_t token, Timestamp now);

// Reads job and node again inside a write. Checks that both still belong to the actor, that the
// lease is valid, and that the node's enrolment is active. Errors: as own_job, require_lease and
// require_active.
[[nodiscard]] Result<OwnJob> still_own(storage::Transaction& transaction, const LeaseCall& call,
                                       Timestamp now);

// How a job ends.
struct Ending {
  std::string_view result;
  Json detail;
  std::string_view code;  // error code of a failed job; else empty
};
// Writes the finished row, with the report of `pending` if there is one, and its log record. The
// record is report.accepted if there is a report and the job did not fail; otherwise it is
// job.finished.
[[nodiscard]] Status finish(storage::Transaction& transaction, storage::JobRow job,
                            const Pending& pending, Ending ending, const std::string& actor);

// Returns how a job ends when no worker continues it. Without a report, the job fails with `code`,
// and its detail has `refused` when that is not empty.
// If the report showed differences, the job ends as a mismatch, because only the byte ranges of the
// differences were still missing. If the spot check of the report was not answered, the job fails
// with spot-check-failed, so that a worker cannot avoid this result by not answering.
[[nodiscard]] Ending lost_ending(const storage::JobRow& job, const Pending& pending, ErrorCode code,
                                 std::string_view refused = {});

// Returns the detail of a job that ended with a mismatch.
[[nodiscard]] Json mismatch_detail(const Pending& pending);

}  // namespace assay::server
