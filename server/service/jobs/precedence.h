// SPDX-License-Identifier: Apache-2.0
// Rules that say which report decides about the bytes at a place (storage/report_rules.h explains
// both words), and when there is doubt about these bytes. The store calls these functions when it
// writes a job, when a decision reads reports, and when `assayd repair` rebuilds rows.
#pragma once

#include "storage/report_rules.h"

namespace assay::server {

// Returns true when decisions may depend on the job: a report has arrived, in this lease or an
// earlier one, or the job has finished.
inline bool may_count(const storage::JobRow& job) {
  return job.report ||
         (job.state != storage::JobState::kQueued && job.state != storage::JobState::kLeased);
}

// Returns true when, at the time `now`, an unfinished job casts doubt on the bytes: its report
// showed differences, or a spot check was not answered before the lease (this or an earlier one)
// ended.
inline bool speaks_against(const storage::JobRow& job, Timestamp now) {
  return job.state == storage::JobState::kOutline || job.report.has_value() ||
         (job.state == storage::JobState::kSpot && job.lease_expires_at &&
          *job.lease_expires_at <= now);
}

// Returns true for a job that replaces a job whose row was lost (server/service/upkeep/rebuild.h).
inline bool is_lost(const storage::JobRow& job) {
  return job.state == storage::JobState::kDone && !job.report && job.detail.is_object() &&
         job.detail.contains("code") && job.detail["code"] == info(ErrorCode::kDataLoss).code;
}

// Returns true when the report of a finished job decides from now on. A report that did not verify
// the bytes always does. A report that verified the bytes does so only if it is about all entries,
// and if its lease did not begin before `against`, when an earlier job last cast doubt on the
// bytes. Otherwise it may have read the bytes before they changed.
inline bool takes_place(const storage::JobRow& job, const std::optional<Timestamp>& against) {
  if (!job.report || job.result != "verified") {
    return job.report.has_value();
  }
  return job.subset == Json::array() && job.read_since && (!against || *job.read_since >= *against);
}

// Returns the effect of a finished job on what is known about its place. A lost job makes the store
// ignore earlier reports on the place, because nobody knows what the lost report said. A lost job
// also casts doubt on the bytes, at the time when its row was rebuilt.
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
