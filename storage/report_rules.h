// SPDX-License-Identifier: Apache-2.0
// Rules that say which report decides about the bytes at a place. The store keeps the deciding
// report beside the jobs, in the same transaction. Whoever opens the store hands in the rules, as
// pure functions over rows.
#pragma once

#include <optional>

#include "storage/node_store.h"

namespace assay::storage {

// The effect of a finished job on what is known about its place.
struct FinishedWord {
  bool forgets = false;                // earlier reports on the place are ignored
  bool takes_place = false;            // its report decides from now on
  std::optional<Timestamp> against{};  // when the job cast doubt on the bytes
};

struct ReportRules {
  // Returns true when decisions may depend on the job. Queued and leased jobs change no decision.
  bool (*may_count)(const JobRow& job);
  // Returns true when an open job, for which may_count() is true, casts doubt on the bytes at
  // `now`.
  bool (*speaks_against)(const JobRow& job, Timestamp now);
  // Returns the effect of a finished job. `against` is when a job last cast doubt on the bytes.
  FinishedWord (*finished)(const JobRow& job, const std::optional<Timestamp>& against);
};

}  // namespace assay::storage
