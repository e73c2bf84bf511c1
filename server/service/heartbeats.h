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

// Limits on the changes of state of instances in an hour: of the instances of one pod, on the pods
// of one namespace that have changes on one node, and on the namespaces of one node that have a
// count of their own. They are needed because every change is kept in the log for ever. Pods that
// come and go without end use up the share of their namespace, and no other one. Further namespaces
// and pods that the service does not know share one count.
inline constexpr std::size_t kMaxChangesOfAPodAnHour = 128;
inline constexpr std::size_t kMaxChangingPodsAnHour = 256;
inline constexpr std::size_t kMaxChangingNamespacesAnHour = 256;

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

  // Does the same for the instances of one pod.
  void forget(const std::string& node, const std::string& pod) {
    const std::lock_guard lock(mutex_);
    if (const auto found = newest_.find(node); found != newest_.end()) {
      std::erase_if(found->second.instances,
                    [&](const InstanceBeat& beat) { return beat.instance.pod == pod; });
    }
  }

  enum class Spent : std::uint8_t { kYes, kRefused, kRefusedFirst };
  // Adds `changes` to the changes of a pod of the node in this hour. `name_space` is the namespace
  // of the pod; empty: not known. Adds none when the sum would exceed kMaxChangesOfAPodAnHour, or
  // when the pod would be one more of its namespace than kMaxChangingPodsAnHour. kRefusedFirst: the
  // first such refusal of the pod, or of the namespace's further pods, in this hour.
  [[nodiscard]] Spent spend(const std::string& node, const std::string& name_space,
                            const std::string& pod, std::size_t changes, Timestamp now) {
    const std::lock_guard lock(mutex_);
    Hour& hour = hour_of(node, name_space, now);
    const bool known = hour.pods.contains(pod);
    if (!known && hour.pods.size() == kMaxChangingPodsAnHour) {
      return std::exchange(hour.told, true) ? Spent::kRefused : Spent::kRefusedFirst;
    }
    PodHour& own = hour.pods[pod];
    if (own.changes + changes > kMaxChangesOfAPodAnHour) {
      return std::exchange(own.told, true) ? Spent::kRefused : Spent::kRefusedFirst;
    }
    own.changes += changes;
    return Spent::kYes;
  }

  // Gives back changes that were spent at `now` and could not be logged.
  void give_back(const std::string& node, const std::string& name_space, const std::string& pod,
                 std::size_t changes, Timestamp now) {
    const std::lock_guard lock(mutex_);
    Hour& hour = hour_of(node, name_space, now);
    const auto own = hour.pods.find(pod);
    if (own != hour.pods.end() && own->second.changes >= changes) {
      own->second.changes -= changes;
    }
  }

  [[nodiscard]] std::optional<Newest> of(const std::string& node) const {
    const std::lock_guard lock(mutex_);
    const auto found = newest_.find(node);
    return found == newest_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  struct PodHour {
    std::size_t changes = 0;
    bool told = false;  // a refusal was logged
  };
  struct Hour {
    Timestamp began{};
    std::map<std::string, PodHour> pods{};
    bool told = false;  // the refusal of a further pod was logged
  };

  // The hour in which changes of this namespace count now. The caller must hold mutex_.
  Hour& hour_of(const std::string& node, const std::string& name_space, Timestamp now) {
    const auto is_over = [now](const Hour& hour) {
      return now - hour.began >= std::chrono::hours(1);
    };
    auto& hours = hours_[node];
    if (hours.size() >= kMaxChangingNamespacesAnHour && !hours.contains(name_space)) {
      std::erase_if(hours, [&](const auto& one) { return is_over(one.second); });
    }
    const bool apart = hours.size() < kMaxChangingNamespacesAnHour || hours.contains(name_space);
    Hour& hour = hours[apart ? name_space : std::string()];
    if (is_over(hour)) {
      hour = {now, {}, false};
    }
    return hour;
  }

  mutable std::mutex mutex_;
  std::optional<Nonce> session_;
  std::map<std::string, Newest> newest_;
  std::map<std::string, std::map<std::string, Hour>> hours_;  // by node and namespace
};

}  // namespace assay::server
