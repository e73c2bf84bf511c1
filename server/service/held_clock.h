// SPDX-License-Identifier: Apache-2.0
// A clock that never goes back. When the wall clock is set back, this clock goes on from its last
// time at the pace of the monotonic clock. So leases and nonces still expire, and reports still
// grow older. After a restart, this clock begins no earlier than the last write of the log. If the
// wall clock is behind that write, nobody knows how long the service was down. The time is then
// unknown until the wall clock has reached the time of that write. Thread-safe.
#pragma once

#include <functional>
#include <mutex>

#include "schemas/core/clock.h"

namespace assay::server {

class HeldClock final : public Clock {
 public:
  using Steady = std::function<std::chrono::milliseconds()>;

  // `wall` must outlive this clock. `steady` never goes back; by default it is the system's
  // monotonic clock.
  explicit HeldClock(const Clock& wall, Steady steady = system_steady);

  [[nodiscard]] Timestamp now() const override;
  // Makes `least` the earliest time that now() returns after this call.
  void hold(Timestamp least);
  // Returns false while the wall clock is more than kTolerance behind the time given to hold().
  // While the result is false, no decision is made, because reports may be older than they seem.
  [[nodiscard]] bool is_known() const;
  static constexpr std::chrono::seconds kTolerance{5};
  // Returns how far this clock is ahead of the wall clock; zero or more.
  [[nodiscard]] std::chrono::milliseconds lead() const;

  [[nodiscard]] static std::chrono::milliseconds system_steady();

 private:
  struct Reading {
    Timestamp now;
    Timestamp wall;
  };
  [[nodiscard]] Reading read() const;

  const Clock& wall_;
  const Steady steady_;
  mutable std::mutex mutex_;
  mutable Timestamp base_;                         // the time at `base_steady_`
  mutable std::chrono::milliseconds base_steady_;  // reading of the steady clock
  mutable Timestamp held_;  // latest time given to hold(); zero after is_known() returned true
};

}  // namespace assay::server
