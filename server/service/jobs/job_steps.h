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

// The content of JobRow::pending while a job is leased. Fields after `leased_at` are set once a
// report has arrived. A spot check that was not answered before its lease ended is kept, with its
// report, for later leases. So a `report` in a job that waits for a report is such an earlier one.
struct Pending {
  std::string nonce;  // hex; of the newest lease's challenge, older ones do not count
  Timestamp leased_at;
  std::optional<DocumentId> report;  // envelope
  std::optional<Timestamp> reported_at;
  std::optional<Timestamp> read_since;  // leased_at of the lease whose nonce the report answers
  std::string volume;                   // volume that the report names
  std::optional<DocumentId> appraisal;  // of the report's evidence
  bool worker_measured = false;
  Json detail = Json::object();          // detail of the job once finished
  std::vector<Json> differences;         // see Difference
  std::vector<std::size_t> localisable;  // indexes of `differences` that `answer` asks about
  std::optional<ReportAnswer> answer;    // what the worker was asked for
  std::vector<SpotSpan> drawn;           // of the spot check; drawn once per job, for all leases
  std::vector<Digest> expected;          // right answers to the spot check
};
[[nodiscard]] Json to_json(const Pending& pending);
[[nodiscard]] Result<Pending> pending_from(const storage::JobRow& job);

// Returns the job and its node if both belong to the actor. Errors: not-found; node-taken.
struct OwnJob {
  storage::JobRow job;
  storage::NodeRow node;
};
[[nodiscard]] Result<OwnJob> own_job(storage::Snapshot& snapshot, const LeaseCall& call);

// Returns the pod whose own mount the job is about. Returns nullopt for other jobs.
[[nodiscard]] std::optional<JobPod> pod_of(const storage::JobRow& job);

// Checks that the lease with this token runs at `now`. Errors: lease-lost.
[[nodiscard]] Status require_lease(const storage::JobRow& job, std::uint64_t token, Timestamp now);

// Reads job and node again inside a write. Checks that both still belong to the actor, the lease
// runs and the node's enrolment is active. Errors: as own_job, require_lease and require_active.
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

// Returns how a job ends that no worker continues. Without a report, the job fails with `code`.
// With a report that differs, the job ends as a mismatch: only the byte ranges were pending. With a
// report whose spot check was not answered, the job fails as if the answers had been wrong.
// Otherwise a worker could avoid a failed spot check by silence.
[[nodiscard]] Ending lost_ending(const storage::JobRow& job, const Pending& pending,
                                 ErrorCode code);

// Returns the detail of a job that ended with a mismatch.
[[nodiscard]] Json mismatch_detail(const Pending& pending);

}  // namespace assay::server
