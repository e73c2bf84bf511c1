// SPDX-License-Identifier: Apache-2.0
// When the worker of each node last called this process. These times show whether two live workers
// use the name of one node, or only one worker that was restarted.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "schemas/core/clock.h"

namespace assay::server {

// Last calls by node name. Thread-safe. The caller must note only enrolled nodes, so that the map
// is at most as large as the table of nodes.
class LastSeen {
 public:
  void note(const std::string& node, Timestamp now) {
    const std::lock_guard lock(mutex_);
    seen_[node] = now;
  }
  // Returns the time of the last call by the node's worker. Returns nullopt when this process has
  // received no such call.
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
