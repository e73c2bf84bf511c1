// SPDX-License-Identifier: Apache-2.0
#include "server/service/hourly_quota.h"

#include <chrono>

namespace assay::server {
namespace {

bool is_over(Timestamp since, Timestamp now) { return now - since >= std::chrono::hours(1); }

}  // namespace

Result<std::unique_ptr<HourlyQuota::Room>> HourlyQuota::reserve(const std::string& name,
                                                                std::size_t amount, Timestamp now) {
  if (amount <= limits_.uncounted) {
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  if (hours_.size() >= limits_.names && !hours_.contains(name)) {
    std::erase_if(hours_, [now](const auto& one) { return is_over(one.second.since, now); });
  }
  const bool apart = hours_.size() < limits_.names || hours_.contains(name);
  const std::string counted = apart ? name : std::string();
  Hour& hour = hours_.try_emplace(counted, Hour{now}).first->second;
  if (is_over(hour.since, now)) {
    hour = {now};
  }
  if (amount > limits_.per_hour - hour.amount) {
    return fail(ErrorCode::kLimitExceeded, std::string(limits_.refusal), name);
  }
  hour.amount += amount;
  return std::make_unique<Room>(*this, counted, hour.since, amount);
}

void HourlyQuota::give_back(const std::string& counted, Timestamp since, std::size_t amount) {
  const std::lock_guard lock(mutex_);
  const auto found = hours_.find(counted);
  if (found != hours_.end() && found->second.since == since) {
    found->second.amount -= amount;
  }
}

}  // namespace assay::server
