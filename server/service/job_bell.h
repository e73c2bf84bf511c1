// SPDX-License-Identifier: Apache-2.0
// Wakes threads that wait for a verification job. The waiting threads come from the server's thread
// pool, so their number is limited.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace assay::server {

// A bell for which threads can wait. It counts its rings. Thread-safe.
class JobBell {
 public:
  // Lets at most `max_waiters` threads wait at a time. With 0, no thread may wait.
  explicit JobBell(std::size_t max_waiters) : max_waiters_(max_waiters) {}

  // Returns the number of rings. The caller must read this number before it looks for a job, so
  // that wait() misses no ring.
  [[nodiscard]] std::uint64_t rings() const;
  // Wakes all waiters because there is a new job.
  void ring();
  // Wakes all waiters and refuses later ones, because the service ends.
  void stop();

  enum class Woken : std::uint8_t {
    kRang,     // the bell rang after `seen` was read
    kTimeout,  // `wait` has passed
    kAway,     // too many waiters, a newer waiter for `who`, or the service ends
  };
  // Waits for a ring; returns at once if the bell rang since rings() returned `seen`. `who` is the
  // name of a node. A new waiter for a node ends the earlier wait for this node, because the
  // earlier worker may have died or lost its connection.
  [[nodiscard]] Woken wait(std::uint64_t seen, std::chrono::milliseconds wait,
                           const std::string& who);

 private:
  const std::size_t max_waiters_;
  mutable std::mutex mutex_;
  std::condition_variable rang_;
  std::uint64_t rings_ = 0;
  std::size_t waiters_ = 0;
  std::uint64_t tickets_ = 0;
  std::map<std::string, std::uint64_t> newest_;  // ticket of the waiter, by `who`
  bool stopped_ = false;
};

}  // namespace assay::server
