// SPDX-License-Identifier: Apache-2.0
// The memory budget shared by bodies being received and answers that clients have not read yet.
#pragma once

#include <cstddef>

namespace assay::server {

// A limit on bytes, shared by several MemoryShare objects. Not thread-safe: only one thread may use
// it and its shares.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::size_t limit) : limit_(limit) {}
  [[nodiscard]] bool is_spent() const { return used_ >= limit_; }

 private:
  friend class MemoryShare;
  std::size_t limit_;
  std::size_t used_ = 0;
};

// One connection's share of a budget. The destructor gives the share back. The budget must outlive
// the share.
class MemoryShare {
 public:
  explicit MemoryShare(MemoryBudget& budget) : budget_(budget) {}
  MemoryShare(const MemoryShare&) = delete;
  MemoryShare& operator=(const MemoryShare&) = delete;
  ~MemoryShare() { hold(0); }

  // Changes this share to `bytes`. Returns false, and changes nothing, when the budget would be
  // exceeded.
  [[nodiscard]] bool try_hold(std::size_t bytes) {
    if (bytes > held_ && budget_.used_ - held_ + bytes > budget_.limit_) {
      return false;
    }
    hold(bytes);
    return true;
  }
  // Changes this share to `bytes` without checking the limit. Meant for memory that is already
  // allocated.
  void hold(std::size_t bytes) {
    budget_.used_ = budget_.used_ - held_ + bytes;
    held_ = bytes;
  }

 private:
  MemoryBudget& budget_;
  std::size_t held_ = 0;
};

}  // namespace assay::server
