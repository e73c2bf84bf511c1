// SPDX-License-Identifier: Apache-2.0
// Remembers when the outcome of an evaluation may change because time passes. Internal to policy.
#pragma once

#include <algorithm>
#include <limits>

#include "schemas/core/clock.h"

namespace assay::policy {

struct Horizon {
  Timestamp now{};
  Timestamp until = Timestamp::max();  // the earliest change noted; max(): none

  // Notes that something changes at `time`. What changed before, or changes now, does not matter.
  void changes_at(Timestamp time) {
    if (time > now) {
      until = std::min(until, time);
    }
  }
  // Notes when what happened at `then` becomes older than `max_age_seconds` (is_older() in age.h).
  void ages_from(Timestamp then, std::uint64_t max_age_seconds) {
    constexpr std::uint64_t kLongest = 100'000'000'000;  // 3,000 years
    if (max_age_seconds <= kLongest) {
      changes_at(then + std::chrono::seconds(max_age_seconds) + std::chrono::milliseconds(1));
    }
  }
};

}  // namespace assay::policy
