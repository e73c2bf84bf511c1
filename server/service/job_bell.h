// SPDX-License-Identifier: Apache-2.0
// Wakes those who wait for a job. Waiting takes a thread of the pool, so few may wait.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace assay::server {

// Thread-safe.
class JobBell {
 public:
  // At most `max_waiters` threads wait at a time; 0: nobody does.
  explicit JobBell(std::size_t max_waiters) : max_waiters_(max_waiters) {}

  // How often it rang; read before looking for a job, so that none is missed.
  [[nodiscard]] std::uint64_t rings() const;
  // There is a new job.
  void ring();
  // Nobody waits any more, now or later: the service ends.
  void stop();

  enum class Woken : std::uint8_t {
    kRang,     // since `seen`
    kTimeout,  // `wait` is over
    kAway,     // too many wait already, somebody else waits for `who` now, or the service ends
  };
  // One waits for each `who` (a node), the newest: a worker that died or lost its connection still
  // seems to wait, and must not be given what its successor waits for.
  [[nodiscard]] Woken wait(std::uint64_t seen, std::chrono::milliseconds wait,
                           const std::string& who);

 private:
  const std::size_t max_waiters_;
  mutable std::mutex mutex_;
  std::condition_variable rang_;
  std::uint64_t rings_ = 0;
  std::size_t waiters_ = 0;
  std::uint64_t tickets_ = 0;
  std::map<std::string, std::uint64_t> newest_;  // ticket of whoever waits, by what for
  bool stopped_ = false;
};

}  // namespace assay::server
