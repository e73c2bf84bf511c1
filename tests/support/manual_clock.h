// SPDX-License-Identifier: Apache-2.0
// A clock that stands still until a test moves it.
#pragma once

#include <atomic>

#include "schemas/core/clock.h"

namespace assay {

// Threading: any thread.
class ManualClock final : public Clock {
 public:
  // 2026-01-02T03:04:05.678Z unless told.
  explicit ManualClock(Timestamp start = Timestamp(std::chrono::milliseconds(1767323045678)))
      : now_(start.time_since_epoch().count()) {}

  [[nodiscard]] Timestamp now() const override {
    return Timestamp(std::chrono::milliseconds(now_.load()));
  }
  void set(Timestamp time) { now_ = time.time_since_epoch().count(); }
  // Also backwards.
  void advance(std::chrono::milliseconds step) { now_ += step.count(); }

 private:
  std::atomic<std::int64_t> now_;
};

}  // namespace assay
