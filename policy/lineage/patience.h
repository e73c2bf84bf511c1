// SPDX-License-Identifier: Apache-2.0
// Whether anybody still waits for a judgement. Internal to policy/lineage.
#pragma once

#include <cstddef>

#include "policy/lineage_results.h"

namespace assay::policy {

class Patience {
 public:
  // Steps between two questions. A step is about one statement or name, and costs microseconds.
  static constexpr std::size_t kEvery = 16;

  // Null: there is no deadline.
  explicit Patience(const LineageResults* results) : results_(results) {}
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;

  // Notes a step of work; asks at the first one. Returns true when the work is to end.
  bool ends() {
    if (results_ != nullptr && !over_ && steps_++ % kEvery == 0) {
      over_ = !results_->in_time();
    }
    return over_;
  }
  // Returns whether ends() ever returned true: then what was found so far is worth nothing.
  [[nodiscard]] bool over() const { return over_; }

 private:
  const LineageResults* results_;
  std::size_t steps_ = 0;
  bool over_ = false;
};

}  // namespace assay::policy
