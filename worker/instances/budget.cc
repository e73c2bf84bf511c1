// SPDX-License-Identifier: Apache-2.0
#include "worker/instances/budget.h"

namespace assay::worker {

Budget::Grant& Budget::Grant::operator=(Grant&& other) noexcept {
  if (this != &other) {
    give_back();
    budget_ = std::exchange(other.budget_, nullptr);
    pod_ = std::move(other.pod_);
    amount_ = other.amount_;
  }
  return *this;
}

void Budget::Grant::give_back() {
  Budget* const budget = std::exchange(budget_, nullptr);
  if (budget == nullptr) {
    return;
  }
  {
    const std::lock_guard lock(budget->mutex_);
    budget->used_ -= amount_;
    const auto own = budget->used_of_.find(pod_);
    own->second -= amount_;
    if (own->second == 0) {
      budget->used_of_.erase(own);
    }
  }
  budget->changed_.notify_all();
}

bool Budget::has(const std::string& pod, std::uint64_t amount) const {
  const auto own = used_of_.find(pod);
  const std::uint64_t used = own == used_of_.end() ? 0 : own->second;
  return amount <= total_ - used_ && amount <= of_one_pod_ && used <= of_one_pod_ - amount;
}

std::optional<Budget::Grant> Budget::take(const std::string& pod, std::uint64_t amount,
                                          std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_until(lock, deadline, [&] { return has(pod, amount); })) {
    return std::nullopt;
  }
  if (amount == 0) {
    return Grant();
  }
  used_ += amount;
  used_of_[pod] += amount;
  return Grant(*this, pod, amount);
}

}  // namespace assay::worker
