// SPDX-License-Identifier: Apache-2.0
// Lets each principal run one request of a costly kind at a time, so that nobody takes all threads
// of the API with it.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace assay::server {

// Thread-safe.
class PrincipalTurns {
 public:
  // The turn of a principal, until it is destroyed.
  using Held = std::shared_ptr<const void>;

  // Takes the turn of `principal`. Never waits. Returns null when the principal has it already.
  [[nodiscard]] Held try_take(const std::string& principal) {
    const std::scoped_lock lock(mutex_);
    if (!taken_.insert(principal).second) {
      return nullptr;
    }
    return {this, [this, principal](const void* /*self*/) {
              const std::scoped_lock again(mutex_);
              taken_.erase(principal);
            }};
  }

 private:
  std::mutex mutex_;
  std::set<std::string> taken_;
};

}  // namespace assay::server
