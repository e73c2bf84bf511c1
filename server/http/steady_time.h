// SPDX-License-Identifier: Apache-2.0
// The clock for time limits of connections: the monotonic clock, or, in tests, a clock moved by
// hand. The clock for the time of day is in schemas/core/clock.h.
#pragma once

#include <algorithm>
#include <chrono>

namespace assay::server {

// A clock for time limits. Thread-safe.
class SteadyTime {
 public:
  using Point = std::chrono::steady_clock::time_point;

  virtual ~SteadyTime() = default;
  [[nodiscard]] virtual Point now() const { return std::chrono::steady_clock::now(); }
  // Returns how long to sleep before checking whether `deadline` has passed. The check may show
  // that another sleep is needed.
  [[nodiscard]] virtual std::chrono::nanoseconds until(Point deadline) const {
    return std::max(std::chrono::nanoseconds(deadline - now()), std::chrono::nanoseconds(0));
  }
};

// Returns the monotonic clock of the machine.
[[nodiscard]] inline const SteadyTime& monotonic_time() {
  static const SteadyTime time{};
  return time;
}

}  // namespace assay::server
