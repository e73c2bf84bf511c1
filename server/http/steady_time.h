// SPDX-License-Identifier: Apache-2.0
// The time by which limits of connections pass: the monotonic clock, or, in tests, one that is
// moved by hand. Not the time of day, which is schemas/core/clock.h.
#pragma once

#include <algorithm>
#include <chrono>

namespace assay::server {

// Thread-safe.
class SteadyTime {
 public:
  using Point = std::chrono::steady_clock::time_point;

  virtual ~SteadyTime() = default;
  [[nodiscard]] virtual Point now() const { return std::chrono::steady_clock::now(); }
  // How long to sleep before looking at `deadline` again; it may still lie ahead then.
  [[nodiscard]] virtual std::chrono::nanoseconds until(Point deadline) const {
    return std::max(std::chrono::nanoseconds(deadline - now()), std::chrono::nanoseconds(0));
  }
};

// The machine's own.
[[nodiscard]] inline const SteadyTime& monotonic_time() {
  static const SteadyTime time{};
  return time;
}

}  // namespace assay::server
