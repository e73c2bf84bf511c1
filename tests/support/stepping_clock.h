// SPDX-License-Identifier: Apache-2.0
// A clock for tests of deadlines: each look at it moves it on, so that a deadline passes between
// two steps of the work.
#pragma once

#include <chrono>

#include "schemas/core/clock.h"

namespace assay {

class SteppingClock final : public Clock {
 public:
  explicit SteppingClock(Timestamp start,
                         std::chrono::milliseconds step = std::chrono::milliseconds(1))
      : now_(start), step_(step) {}
  [[nodiscard]] Timestamp now() const override { return now_ += step_; }

 private:
  mutable Timestamp now_;
  std::chrono::milliseconds step_;
};

}  // namespace assay
