// SPDX-License-Identifier: Apache-2.0
#include "server/http/fair_shares.h"

namespace assay::server {

bool FairShares::fits(const std::string& caller, std::size_t more) const {
  const auto found = held_.find(caller);
  const std::size_t held = found == held_.end() ? 0 : found->second;
  return used_ < limit_ && held + more <= limit_ - used_;
}

void FairShares::take(const std::string& caller, std::size_t amount) {
  if (amount > 0) {
    used_ += amount;
    held_[caller] += amount;
  }
}

void FairShares::give_back(const std::string& caller, std::size_t amount) {
  const auto found = held_.find(caller);
  if (amount == 0 || found == held_.end()) {
    return;
  }
  used_ -= amount;
  found->second -= amount;
  if (found->second == 0) {
    held_.erase(found);
  }
}

}  // namespace assay::server
