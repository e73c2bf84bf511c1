// SPDX-License-Identifier: Apache-2.0
#include "server/service/job_bell.h"

namespace assay::server {

std::uint64_t JobBell::rings() const {
  const std::lock_guard lock(mutex_);
  return rings_;
}

void JobBell::ring() {
  {
    const std::lock_guard lock(mutex_);
    ++rings_;
  }
  rang_.notify_all();
}

void JobBell::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  rang_.notify_all();
}

JobBell::Woken JobBell::wait(std::uint64_t seen, std::chrono::milliseconds wait,
                             const std::string& who) {
  std::unique_lock lock(mutex_);
  if (rings_ != seen) {
    return Woken::kRang;
  }
  const bool replaces = newest_.contains(who);
  if (stopped_ || (waiters_ >= max_waiters_ && !replaces)) {
    return Woken::kAway;
  }
  const std::uint64_t ticket = ++tickets_;
  newest_[who] = ticket;
  if (replaces) {
    rang_.notify_all();
  }
  ++waiters_;
  const auto is_replaced = [&] {
    const auto at = newest_.find(who);
    return at == newest_.end() || at->second != ticket;
  };
  const bool woken =
      rang_.wait_for(lock, wait, [&] { return stopped_ || rings_ != seen || is_replaced(); });
  --waiters_;
  if (is_replaced()) {
    return Woken::kAway;
  }
  newest_.erase(who);
  if (!woken) {
    return Woken::kTimeout;
  }
  return stopped_ ? Woken::kAway : Woken::kRang;
}

}  // namespace assay::server
