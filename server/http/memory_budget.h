// SPDX-License-Identifier: Apache-2.0
// The memory budget shared by bodies being received and answers that clients have not read yet.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>

#include "server/http/fair_shares.h"

namespace assay::server {

// A limit on bytes, divided among callers (fair_shares.h). MemoryShare objects hold them, which may
// belong to several threads.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::size_t limit) : bytes_(limit) {}

 private:
  friend class MemoryShare;
  std::mutex mutex_;
  FairShares bytes_;  // under mutex_
};

// What one connection holds of a budget. The destructor gives it back. The budget must outlive the
// share. Not thread-safe: one thread at a time may use it.
class MemoryShare {
 public:
  explicit MemoryShare(MemoryBudget& budget) : budget_(budget) {}
  MemoryShare(const MemoryShare&) = delete;
  MemoryShare& operator=(const MemoryShare&) = delete;
  ~MemoryShare() { hold(0); }

  // Counts what is held now and later for `caller`.
  void belong_to(const std::string& caller);
  // Changes this share to `bytes`. Returns false, and changes nothing, when more does not fit.
  [[nodiscard]] bool try_hold(std::size_t bytes);
  // Changes this share to `bytes` without checking the limit. Meant for memory that is already
  // allocated.
  void hold(std::size_t bytes);
  // Returns false when the other shares leave no room for one of this caller. What this share holds
  // does not matter: whoever holds much is not held up by it.
  [[nodiscard]] bool others_leave_room() const;

 private:
  MemoryBudget& budget_;
  std::string caller_;
  std::size_t held_ = 0;
};

}  // namespace assay::server
