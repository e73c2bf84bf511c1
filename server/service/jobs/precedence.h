// SPDX-License-Identifier: Apache-2.0
// Which report counts at a place, and what speaks against the bytes there. The store asks these
// functions when a job is written, when a decision reads, and when `assayd repair` makes its rows
// again (storage/report_rules.h).
#pragma once

#include "storage/report_rules.h"

namespace assay::server {

// A report is in, or a spot check is under way.
inline bool may_count(const storage::JobRow& job) {
  return job.report ||
         (job.state != storage::JobState::kQueued && job.state != storage::JobState::kLeased);
}

// A mismatch is in; or a spot check was not answered in time, or not before the lease was lost.
inline bool speaks_against(const storage::JobRow& job, Timestamp now) {
  return job.state == storage::JobState::kOutline || job.report.has_value() ||
         (job.state == storage::JobState::kSpot && job.lease_expires_at &&
          *job.lease_expires_at <= now);
}

// A job that stands for one whose row was lost (server/service/upkeep/rebuild.h).
inline bool is_lost(const storage::JobRow& job) {
  return job.state == storage::JobState::kDone && !job.report && job.detail.is_object() &&
         job.detail.contains("code") && job.detail["code"] == info(ErrorCode::kDataLoss).code;
}

// Whether a finished report is the one that counts from now on. A report that verified the bytes
// takes the place of one that spoke against them only if its lease began after that one came in:
// otherwise it may have read the bytes before they changed.
inline bool takes_place(const storage::JobRow& job, const std::optional<Timestamp>& against) {
  if (!job.report || job.result != "verified") {
    return job.report.has_value();
  }
  return job.subset == Json::array() && job.read_since && (!against || *job.read_since >= *against);
}

// A lost job takes what is known at its place with it: nobody knows what its report would have
// said. So it counts as one against the bytes from when its row was made.
inline storage::FinishedWord finished_word(const storage::JobRow& job,
                                           const std::optional<Timestamp>& against) {
  const bool lost = is_lost(job);
  const bool speaks = lost || (job.report && job.result != "verified");
  return {.forgets = lost,
          .takes_place = !lost && takes_place(job, against),
          .against = speaks ? job.finished_at : std::nullopt};
}

inline constexpr storage::ReportRules kReportRules{may_count, speaks_against, finished_word};

}  // namespace assay::server
