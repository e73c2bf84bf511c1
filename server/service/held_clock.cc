// SPDX-License-Identifier: Apache-2.0
#include "server/service/held_clock.h"

#include <algorithm>
#include <utility>

namespace assay::server {

HeldClock::HeldClock(const Clock& wall, Steady steady)
    : wall_(wall),
      steady_(std::move(steady)),
      base_(wall.now()),
      base_steady_(steady_()),
      held_() {}

std::chrono::milliseconds HeldClock::system_steady() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now().time_since_epoch());
}

HeldClock::Reading HeldClock::read() const {
  const std::lock_guard lock(mutex_);
  const std::chrono::milliseconds steady = steady_();
  const Timestamp wall = wall_.now();
  const Timestamp held = base_ + (steady - base_steady_);
  // Set forward, or as it should be: from here on the wall clock counts again.
  if (wall >= held) {
    base_ = wall;
    base_steady_ = steady;
    return {wall, wall};
  }
  return {held, wall};
}

Timestamp HeldClock::now() const { return read().now; }

void HeldClock::hold(Timestamp least) {
  const bool ahead = read().now < least;
  const std::lock_guard lock(mutex_);
  held_ = std::max(held_, least);
  if (ahead) {
    base_ = least;
    base_steady_ = steady_();
  }
}

bool HeldClock::is_known() const {
  const Reading reading = read();
  const std::lock_guard lock(mutex_);
  if (reading.wall + kTolerance < held_) {
    return false;
  }
  // From here on the steady clock tells what passes, whatever becomes of the wall clock.
  held_ = Timestamp();
  return true;
}

std::chrono::milliseconds HeldClock::lead() const {
  const Reading reading = read();
  return reading.now - reading.wall;
}

}  // namespace assay::server
