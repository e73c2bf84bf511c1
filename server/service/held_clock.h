// SPDX-License-Identifier: Apache-2.0
// A clock that never goes back. When the wall clock is set back, this clock goes on from its last
// time at the pace of the monotonic clock. So leases, nonces and validities still end, and reports
// still grow older. After a restart, time is at least the time of the last write. A wall clock
// behind that write cannot tell how long the service was down. Time is then unknown until the wall
// clock has reached the time of that write. Thread-safe.
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
  // Ages may then be too short by any amount, so no decision is made.
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
  mutable Timestamp held_;  // latest time given to hold(); zero once time was known
};

}  // namespace assay::server
