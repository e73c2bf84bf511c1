// SPDX-License-Identifier: Apache-2.0
// What jobs mean for what is known of the bytes at a place. The store keeps that beside the jobs,
// in the same transaction; what it is, whoever opens the store says: pure functions over rows.
#pragma once

#include <optional>

#include "storage/node_store.h"

namespace assay::storage {

// What a finished job makes of what is known at its place.
struct FinishedWord {
  bool forgets = false;                // everything that was known there counts no more
  bool takes_place = false;            // its report is the one that counts from now on
  std::optional<Timestamp> against{};  // something spoke against the bytes, at this time
};

struct ReportRules {
  // Whether a decision may look at the job: a queue that moves on changes none.
  bool (*may_count)(const JobRow& job);
  // Of an open job that may count: whether it speaks against the bytes at `now`.
  bool (*speaks_against)(const JobRow& job, Timestamp now);
  // `against`: when something last spoke against the bytes there.
  FinishedWord (*finished)(const JobRow& job, const std::optional<Timestamp>& against);
};

}  // namespace assay::storage
