// SPDX-License-Identifier: Apache-2.0
// Lets one question about impact (impact/decision_impact.h) run at a time. Such a question judges
// thousands of cases, so several at once would take all threads of the API.
#pragma once

#include <atomic>
#include <utility>

namespace assay::server {

class ImpactTurn {
 public:
  // The turn, until it is destroyed.
  class Held {
   public:
    explicit Held(std::atomic<bool>* taken) : taken_(taken) {}
    Held(Held&& other) noexcept : taken_(std::exchange(other.taken_, nullptr)) {}
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    Held& operator=(Held&&) = delete;
    ~Held() {
      if (taken_ != nullptr) {
        taken_->store(false);
      }
    }
    // Returns false when somebody else has the turn.
    [[nodiscard]] explicit operator bool() const { return taken_ != nullptr; }

   private:
    std::atomic<bool>* taken_;
  };

  // Takes the turn if it is free. Never waits.
  [[nodiscard]] Held try_take() { return Held(taken_.exchange(true) ? nullptr : &taken_); }

 private:
  std::atomic<bool> taken_ = false;
};

}  // namespace assay::server
