// SPDX-License-Identifier: Apache-2.0
// Limits how many things (such as connections or descriptors) are in use at once: at most `total`
// of all pods together, and at most `of_one_pod` of each pod.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace assay::worker {

// Thread-safe. Must outlive its grants.
class Budget {
 public:
  Budget(std::uint64_t total, std::uint64_t of_one_pod) : total_(total), of_one_pod_(of_one_pod) {}

  // The amount that take() granted. Its destructor gives the amount back.
  class Grant {
   public:
    Grant() = default;
    Grant(Budget& budget, std::string pod, std::uint64_t amount)
        : budget_(&budget), pod_(std::move(pod)), amount_(amount) {}
    ~Grant() { give_back(); }
    Grant(Grant&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)),
          pod_(std::move(other.pod_)),
          amount_(other.amount_) {}
    Grant& operator=(Grant&& other) noexcept;
    Grant(const Grant&) = delete;
    Grant& operator=(const Grant&) = delete;
    void give_back();

   private:
    Budget* budget_ = nullptr;
    std::string pod_;
    std::uint64_t amount_ = 0;
  };

  // Takes `amount` for `pod` (the uid; empty for all processes outside of pods). While too
  // little is free, waits until `deadline`. Returns nullopt when too little is free at `deadline`.
  [[nodiscard]] std::optional<Grant> take(const std::string& pod, std::uint64_t amount,
                                          std::chrono::steady_clock::time_point deadline = {});

 private:
  [[nodiscard]] bool has(const std::string& pod, std::uint64_t amount) const;

  const std::uint64_t total_;
  const std::uint64_t of_one_pod_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t used_ = 0;
  std::map<std::string, std::uint64_t> used_of_;  // pods that use some
};

}  // namespace assay::worker
