// SPDX-License-Identifier: Apache-2.0
// The later of the wall clock and what the monotonic clock adds to the time given last.
#include "schemas/core/forward_clock.h"

#include <algorithm>
#include <utility>

namespace assay {
namespace {

std::chrono::milliseconds monotonic() {
  return std::chrono::floor<std::chrono::milliseconds>(
      std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace

ForwardClock::ForwardClock(const Clock& wall) : ForwardClock(wall, monotonic) {}

ForwardClock::ForwardClock(const Clock& wall, Elapsed elapsed)
    : wall_(wall), elapsed_(std::move(elapsed)), last_(wall.now()), elapsed_then_(elapsed_()) {}

// Holds mutex_.
Timestamp ForwardClock::advance() const {
  const std::chrono::milliseconds elapsed = std::max(elapsed_(), elapsed_then_);
  last_ = std::max<Timestamp>(wall_.now(), last_ + (elapsed - elapsed_then_));
  elapsed_then_ = elapsed;
  return last_;
}

Timestamp ForwardClock::now() const {
  const std::lock_guard lock(mutex_);
  return advance();
}

void ForwardClock::not_before(Timestamp time) {
  const std::lock_guard lock(mutex_);
  last_ = std::max(advance(), time);
}

std::chrono::milliseconds ForwardClock::lag() const {
  const std::lock_guard lock(mutex_);
  const Timestamp wall = wall_.now();
  return std::max(advance() - wall, std::chrono::milliseconds(0));
}

}  // namespace assay
