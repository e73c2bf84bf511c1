// SPDX-License-Identifier: Apache-2.0
// The memory budget shared by bodies being received and answers that clients have not read yet.
#pragma once

#include <atomic>
#include <cstddef>

namespace assay::server {

// A limit on bytes, shared by several MemoryShare objects, which may belong to several threads.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::size_t limit) : limit_(limit) {}

 private:
  friend class MemoryShare;
  const std::size_t limit_;
  std::atomic<std::size_t> used_ = 0;
};

// One connection's share of a budget. The destructor gives the share back. The budget must outlive
// the share. Not thread-safe: one thread at a time may use it.
class MemoryShare {
 public:
  explicit MemoryShare(MemoryBudget& budget) : budget_(budget) {}
  MemoryShare(const MemoryShare&) = delete;
  MemoryShare& operator=(const MemoryShare&) = delete;
  ~MemoryShare() { hold(0); }

  // Changes this share to `bytes`. Returns false, and changes nothing, when the budget would be
  // exceeded.
  [[nodiscard]] bool try_hold(std::size_t bytes) {
    if (bytes <= held_) {
      hold(bytes);
      return true;
    }
    const std::size_t more = bytes - held_;
    std::size_t used = budget_.used_.load();
    do {
      if (used + more > budget_.limit_) {
        return false;
      }
    } while (!budget_.used_.compare_exchange_weak(used, used + more));
    held_ = bytes;
    return true;
  }
  // Changes this share to `bytes` without checking the limit. Meant for memory that is already
  // allocated.
  void hold(std::size_t bytes) {
    budget_.used_ += bytes - held_;  // modulo 2^64: less is added as well
    held_ = bytes;
  }
  // Returns false when what the other shares hold has reached the limit. Whoever holds much is not
  // held up by it.
  [[nodiscard]] bool others_leave_room() const {
    return budget_.used_.load() - held_ < budget_.limit_;
  }

 private:
  MemoryBudget& budget_;
  std::size_t held_ = 0;
};

}  // namespace assay::server
