// SPDX-License-Identifier: Apache-2.0
#include "server/service/new_cases.h"

#include <chrono>

namespace assay::server {
namespace {

bool is_over(Timestamp since, Timestamp now) { return now - since >= std::chrono::hours(1); }

}  // namespace

Result<std::unique_ptr<NewCases::Room>> NewCases::reserve(const std::string& name_space,
                                                          std::size_t bytes, Timestamp now) {
  if (bytes <= kMaxSmallCase) {
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  if (hours_.size() >= kMaxCountedNamespaces && !hours_.contains(name_space)) {
    std::erase_if(hours_, [now](const auto& one) { return is_over(one.second.since, now); });
  }
  const bool apart = hours_.size() < kMaxCountedNamespaces || hours_.contains(name_space);
  const std::string counted = apart ? name_space : std::string();
  Hour& hour = hours_.try_emplace(counted, Hour{now}).first->second;
  if (is_over(hour.since, now)) {
    hour = {now};
  }
  if (bytes > kMaxNewCaseBytes - hour.bytes) {
    return fail(ErrorCode::kLimitExceeded,
                "pods of this namespace that are unlike all before have added as much to what is "
                "kept as they may in an hour",
                name_space);
  }
  hour.bytes += bytes;
  return std::make_unique<Room>(*this, counted, hour.since, bytes);
}

void NewCases::give_back(const std::string& counted, Timestamp since, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = hours_.find(counted);
  if (found != hours_.end() && found->second.since == since) {
    found->second.bytes -= bytes;
  }
}

}  // namespace assay::server
