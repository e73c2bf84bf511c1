// SPDX-License-Identifier: Apache-2.0
// A clock that never goes back: what ends by it ends in time even when the wall clock is set back.
#pragma once

#include <functional>
#include <mutex>

#include "schemas/core/clock.h"

namespace assay {

// Goes on by `elapsed` (time since some fixed moment, which only rises) from the latest time that
// it has given, and with `wall` whenever that is further. Thread-safe; `wall` is borrowed.
class ForwardClock final : public Clock {
 public:
  using Elapsed = std::function<std::chrono::milliseconds()>;

  explicit ForwardClock(const Clock& wall);  // by the machine's monotonic clock
  ForwardClock(const Clock& wall, Elapsed elapsed);

  [[nodiscard]] Timestamp now() const override;
  // It is `time` or later: somebody wrote that down, perhaps before this process began.
  void not_before(Timestamp time);
  // How far the wall clock lies behind.
  [[nodiscard]] std::chrono::milliseconds lag() const;

 private:
  [[nodiscard]] Timestamp advance() const;

  const Clock& wall_;
  const Elapsed elapsed_;
  mutable std::mutex mutex_;
  mutable Timestamp last_;                        // guarded by mutex_
  mutable std::chrono::milliseconds elapsed_then_;  // guarded by mutex_: when last_ was given
};

}  // namespace assay
