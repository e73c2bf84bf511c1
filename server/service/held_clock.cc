// SPDX-License-Identifier: Apache-2.0
#include "server/service/held_clock.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <utility>

namespace assay::server {

HeldClock::HeldClock(const Clock& wall, Steady steady)
    : wall_(wall), steady_(std::move(steady)), base_(wall.now()), base_steady_(steady_()) {}

// CLOCK_MONOTONIC, which std::chrono::steady_clock reads, stands still while the machine sleeps.
std::chrono::milliseconds HeldClock::system_steady() {
  timespec now{};
  if (::clock_gettime(CLOCK_BOOTTIME, &now) != 0) {
    std::abort();  // Linux has it since 2.6.39: without it no age can be told
  }
  return std::chrono::seconds(now.tv_sec) + std::chrono::duration_cast<std::chrono::milliseconds>(
                                                std::chrono::nanoseconds(now.tv_nsec));
}

HeldClock::Reading HeldClock::read() const {
  const std::lock_guard lock(mutex_);
  const std::chrono::milliseconds steady = steady_();
  const Timestamp wall = wall_.now();
  Timestamp held = base_ + (steady - base_steady_);
  if (held_ && wall + kTolerance >= held_->wall) {
    held = std::max(held, held_->at(wall));
    base_ = held;
    base_steady_ = steady;
    // From here on the steady clock tells what passes, whatever becomes of the wall clock.
    held_.reset();
  }
  // Set forward, or as it should be: from here on the wall clock counts again.
  if (wall >= held) {
    base_ = wall;
    base_steady_ = steady;
    return {wall, wall};
  }
  return {held, wall};
}

Timestamp HeldClock::now() const { return read().now; }

void HeldClock::hold(const storage::LastWrite& last) {
  const bool ahead = read().now < last.time;
  {
    const std::lock_guard lock(mutex_);
    held_ = held_ ? storage::LastWrite{std::max(held_->time, last.time),
                                       std::max(held_->wall, last.wall)}
                  : last;
    if (ahead) {
      base_ = last.time;
      base_steady_ = steady_();
    }
  }
  static_cast<void>(read());
}

bool HeldClock::is_known() const {
  static_cast<void>(read());
  const std::lock_guard lock(mutex_);
  return !held_;
}

Timestamp HeldClock::wall() const {
  const Reading reading = read();
  const std::lock_guard lock(mutex_);
  return held_ ? std::max(held_->wall, reading.wall) : reading.wall;
}

std::chrono::milliseconds HeldClock::lead() const {
  const Reading reading = read();
  return reading.now - reading.wall;
}

}  // namespace assay::server
