// SPDX-License-Identifier: Apache-2.0
// Lets a decision be written that changes of what it rests on made void again and again: for its
// last attempt, changes wait. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace assay::server {

class DecisionGate {
 public:
  // Limit on how long either side waits for the other. After that both go on: a decision may be
  // void once more, and a revocation is never held up for longer.
  static constexpr std::chrono::seconds kMaxWait{2};

  // Keeps the other side waiting while it lives.
  class Pass {
   public:
    Pass(Pass&& other) noexcept : gate_(other.gate_), side_(other.side_) { other.gate_ = nullptr; }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
    Pass& operator=(Pass&&) = delete;
    ~Pass() {
      if (gate_ != nullptr) {
        gate_->leave(side_);
      }
    }

   private:
    friend class DecisionGate;
    Pass(DecisionGate& gate, std::size_t DecisionGate::* side) : gate_(&gate), side_(side) {}
    DecisionGate* gate_;
    std::size_t DecisionGate::* side_;
  };

  // For the write of a change. Waits while a decision has its last attempt.
  [[nodiscard]] Pass change() {
    std::unique_lock lock(mutex_);
    moved_.wait_for(lock, kMaxWait, [this] { return deciding_ == 0; });
    ++changing_;
    return {*this, &DecisionGate::changing_};
  }
  // For the last attempt of a decision, from before its snapshot until it is written. Changes that
  // begin later wait; waits for those under way.
  [[nodiscard]] Pass decide() {
    std::unique_lock lock(mutex_);
    ++deciding_;
    Pass pass(*this, &DecisionGate::deciding_);
    moved_.wait_for(lock, kMaxWait, [this] { return changing_ == 0; });
    return pass;
  }

 private:
  void leave(std::size_t DecisionGate::* side) {
    const std::lock_guard lock(mutex_);
    --(this->*side);
    moved_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable moved_;
  std::size_t changing_ = 0;
  std::size_t deciding_ = 0;
};

}  // namespace assay::server
