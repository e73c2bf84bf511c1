// SPDX-License-Identifier: Apache-2.0
// A clock that never goes back. When the wall clock is set back, this clock goes on from its last
// time at the pace of the monotonic clock. Leases and nonces therefore still expire, and reports
// still grow older. After a restart, this clock begins no earlier than the time of the store's last
// write, and keeps the lead over the wall clock that it had at that write (storage/last_write.h).
// If the wall clock is earlier than it was at that write, nobody knows how long the service was
// down. In this case, the time is unknown until the wall clock has reached its value at that write.
// Thread-safe.
#pragma once

#include <functional>
#include <mutex>
#include <optional>

#include "schemas/core/clock.h"
#include "storage/last_write.h"

namespace assay::server {

class HeldClock final : public Clock {
 public:
  using Steady = std::function<std::chrono::milliseconds()>;

  // `wall` must outlive this clock. The caller must pass a `steady` that never goes back; by
  // default it is the system's monotonic clock, which also runs while the machine sleeps.
  explicit HeldClock(const Clock& wall, Steady steady = system_steady);

  [[nodiscard]] Timestamp now() const override;
  // Makes the time of the last write the earliest time that now() returns after this call.
  void hold(const storage::LastWrite& last);
  // Returns false from hold() on until the wall clock is at most kTolerance behind LastWrite::wall
  // of the write given to hold(). While the result is false, no decision is made, because reports
  // may be older than they seem.
  [[nodiscard]] bool is_known() const;
  static constexpr std::chrono::seconds kTolerance = storage::LastWrite::kTolerance;
  // Returns the wall clock that a write stores beside its time (LastWrite::wall). While the time is
  // unknown, the result is at least the wall clock at the write given to hold(). Otherwise the next
  // start would not notice that the wall clock was set back.
  [[nodiscard]] Timestamp wall() const;
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
  mutable Timestamp base_;                          // the time at `base_steady_`
  mutable std::chrono::milliseconds base_steady_;   // reading of the steady clock
  mutable std::optional<storage::LastWrite> held_;  // set while the time is unknown
};

}  // namespace assay::server
