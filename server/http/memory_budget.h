// SPDX-License-Identifier: Apache-2.0
// Memory that bodies under way and answers that are not read yet may take together.
#pragma once

#include <cstddef>

namespace assay::server {

// Threading: one thread.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::size_t limit) : limit_(limit) {}
  [[nodiscard]] bool is_spent() const { return used_ >= limit_; }

 private:
  friend class MemoryShare;
  std::size_t limit_;
  std::size_t used_ = 0;
};

// What one connection holds of a budget; gives it back when it goes.
class MemoryShare {
 public:
  explicit MemoryShare(MemoryBudget& budget) : budget_(budget) {}
  MemoryShare(const MemoryShare&) = delete;
  MemoryShare& operator=(const MemoryShare&) = delete;
  ~MemoryShare() { hold(0); }

  // Holds `bytes` from now on; false, and what was held stays, when that is more than the budget.
  [[nodiscard]] bool try_hold(std::size_t bytes) {
    if (bytes > held_ && budget_.used_ - held_ + bytes > budget_.limit_) {
      return false;
    }
    hold(bytes);
    return true;
  }
  // The same for what is there already: it counts, whatever the limit.
  void hold(std::size_t bytes) {
    budget_.used_ = budget_.used_ - held_ + bytes;
    held_ = bytes;
  }

 private:
  MemoryBudget& budget_;
  std::size_t held_ = 0;
};

}  // namespace assay::server
