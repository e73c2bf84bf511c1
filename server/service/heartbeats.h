// SPDX-License-Identifier: Apache-2.0
// The newest heartbeat of each node (nodes/heartbeat.h) that this process received. After a
// restart, no node has a heartbeat here, and no model instance in memory counts as verified until
// its node's agent has sent a new one.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schemas/core/clock.h"
#include "schemas/core/random.h"
#include "schemas/heartbeat.h"

namespace assay::server {

// Limit on the changes of state of instances that one node may report in an hour.
inline constexpr std::size_t kMaxChangesAnHour = 4096;

// Thread-safe. The caller must note heartbeats only of enrolled nodes, so that the maps are at most
// as large as the table of nodes.
class Heartbeats {
 public:
  struct Newest {
    KeyId key;  // that signed the heartbeat
    std::uint64_t sequence;
    std::vector<InstanceBeat> instances;  // ascending by pod and name
    Timestamp heard_at;                   // by the service's clock
  };

  // Returns the session: a nonce that heartbeats must name to be accepted by this process. It is
  // drawn once.
  [[nodiscard]] Result<Nonce> session(Random& random) {
    const std::lock_guard lock(mutex_);
    if (!session_) {
      Nonce drawn{};
      ASSAY_TRY(random.fill(drawn));
      session_ = drawn;
    }
    return *session_;
  }

  // Notes `newest` and returns the instances of the heartbeat that it replaces; empty when no
  // heartbeat signed by this key was noted before. Returns nullopt, and notes nothing, when a
  // heartbeat signed by this key with the same or a higher sequence was noted before.
  [[nodiscard]] std::optional<std::vector<InstanceBeat>> note(const std::string& node,
                                                              Newest newest) {
    const std::lock_guard lock(mutex_);
    const auto found = newest_.find(node);
    const bool known = found != newest_.end() && found->second.key == newest.key;
    if (known && found->second.sequence >= newest.sequence) {
      return std::nullopt;
    }
    std::vector<InstanceBeat> before;
    if (known) {
      before = std::move(found->second.instances);
    }
    newest_.insert_or_assign(node, std::move(newest));
    return before;
  }

  // Forgets the instances of the node's newest heartbeat. Its key and sequence stay, so that no
  // older heartbeat is accepted again.
  void forget(const std::string& node) {
    const std::lock_guard lock(mutex_);
    if (const auto found = newest_.find(node); found != newest_.end()) {
      found->second.instances.clear();
    }
  }

  // Adds `changes` to the node's changes in this hour. Returns false, and adds none, when the sum
  // would exceed kMaxChangesAnHour. The limit is needed because every change is kept in the log for
  // ever, and a hostile node could report changes without end.
  [[nodiscard]] bool spend(const std::string& node, std::size_t changes, Timestamp now) {
    const std::lock_guard lock(mutex_);
    Hour& hour = hours_[node];
    if (now - hour.began >= std::chrono::hours(1)) {
      hour = {now, 0};
    }
    if (hour.changes + changes > kMaxChangesAnHour) {
      return false;
    }
    hour.changes += changes;
    return true;
  }

  // Gives back changes that were spent at `now` and could not be logged.
  void give_back(const std::string& node, std::size_t changes, Timestamp now) {
    const std::lock_guard lock(mutex_);
    const auto found = hours_.find(node);
    if (found != hours_.end() && found->second.began <= now && found->second.changes >= changes) {
      found->second.changes -= changes;
    }
  }

  [[nodiscard]] std::optional<Newest> of(const std::string& node) const {
    const std::lock_guard lock(mutex_);
    const auto found = newest_.find(node);
    return found == newest_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  struct Hour {
    Timestamp began{};
    std::size_t changes = 0;
  };

  mutable std::mutex mutex_;
  std::optional<Nonce> session_;
  std::map<std::string, Newest> newest_;
  std::map<std::string, Hour> hours_;
};

}  // namespace assay::server
