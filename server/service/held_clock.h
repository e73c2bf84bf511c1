// SPDX-License-Identifier: Apache-2.0
// A clock that never goes back. When the wall clock is set back, time goes on from where it was, at
// the pace of the monotonic clock: a lease, a nonce or a validity that was about to end ends, and a
// report grows older. After a restart the last write is the least that time can be, and its lead
// over the wall clock goes on (storage/last_write.h). A wall clock that says less than it did at
// that write cannot tell how long the service stood still, so time is not known until it has come
// to where it was.
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

  // `wall` must outlive it. `steady` never goes back; the system's by default.
  explicit HeldClock(const Clock& wall, Steady steady = system_steady);

  [[nodiscard]] Timestamp now() const override;
  // Time goes on from the last write: it is at least that from now on.
  void hold(const storage::LastWrite& last);
  // False while the wall clock is more than kTolerance behind what it was at that write: ages may
  // be short by any time, so nobody decides by them.
  [[nodiscard]] bool is_known() const;
  static constexpr std::chrono::seconds kTolerance = storage::LastWrite::kTolerance;
  // What a write keeps beside its time (LastWrite::wall). While time is not known it does not go
  // down: otherwise the next start would take the wall clock for one that was never set back.
  [[nodiscard]] Timestamp wall() const;
  // How far it is ahead of the wall clock; zero or more.
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
  mutable Timestamp base_;                          // the time at...
  mutable std::chrono::milliseconds base_steady_;   // ...this reading of the steady clock
  mutable std::optional<storage::LastWrite> held_;  // while time is not known
};

}  // namespace assay::server
