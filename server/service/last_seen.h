// SPDX-License-Identifier: Apache-2.0
// When the worker of each node was heard of last, in this process: two live workers under one name
// are told apart from one that was started again.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "schemas/core/clock.h"

namespace assay::server {

// Thread-safe. Notes only nodes that are enrolled, so it is as large as their table at most.
class LastSeen {
 public:
  void note(const std::string& node, Timestamp now) {
    const std::lock_guard lock(mutex_);
    seen_[node] = now;
  }
  [[nodiscard]] std::optional<Timestamp> of(const std::string& node) const {
    const std::lock_guard lock(mutex_);
    const auto found = seen_.find(node);
    return found == seen_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Timestamp> seen_;
};

}  // namespace assay::server
