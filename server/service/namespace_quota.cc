// SPDX-License-Identifier: Apache-2.0
#include "server/service/namespace_quota.h"

#include <chrono>

namespace assay::server {
namespace {

bool is_over(Timestamp since, Timestamp now) { return now - since >= std::chrono::hours(1); }

}  // namespace

Result<std::unique_ptr<NamespaceQuota::Room>> NamespaceQuota::reserve(const std::string& name_space,
                                                                      std::size_t bytes,
                                                                      Timestamp now) {
  if (bytes <= kMaxUncountedBytes) {
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
  if (bytes > kMaxNewBytesAnHour - hour.bytes) {
    return fail(ErrorCode::kLimitExceeded,
                "this namespace has stored as much about large pods, each unlike those before, as "
                "it may in "
                "an hour; create pods from a template that ran before, or try again in an hour",
                name_space);
  }
  hour.bytes += bytes;
  return std::make_unique<Room>(*this, counted, hour.since, bytes);
}

void NamespaceQuota::give_back(const std::string& counted, Timestamp since, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = hours_.find(counted);
  if (found != hours_.end() && found->second.since == since) {
    found->second.bytes -= bytes;
  }
}

}  // namespace assay::server
