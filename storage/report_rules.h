// SPDX-License-Identifier: Apache-2.0
// Rules that say which report decides about the bytes at a place. A report is a node's signed
// account of the bytes that it read for a verification job. A place says where the bytes are
// (ReportPlace in storage/node_store.h). The transaction that writes a job also stores which report
// decides. Whoever opens the store passes the rules, as pure functions over rows.
#pragma once

#include <optional>

#include "storage/node_store.h"

namespace assay::storage {

// The effect of a finished job on what the store knows about the job's place.
struct FinishedWord {
  bool forgets = false;                // earlier reports on the place are ignored
  bool takes_place = false;            // the report of this job decides from now on
  std::optional<Timestamp> against{};  // when this job cast doubt on the bytes
};

struct ReportRules {
  // Returns true when decisions may depend on the job. Queued and leased jobs change no decision.
  bool (*may_count)(const JobRow& job);
  // Returns true when, at the time `now`, an unfinished job casts doubt on the bytes. Called only
  // when may_count() is true for the job.
  bool (*speaks_against)(const JobRow& job, Timestamp now);
  // Returns the effect of a finished job. `against` is when an earlier job last cast doubt on the
  // bytes.
  FinishedWord (*finished)(const JobRow& job, const std::optional<Timestamp>& against);
};

}  // namespace assay::storage
