// SPDX-License-Identifier: Apache-2.0
// Workloads that no policy selects. They are allowed whatever the store can do: that they passed is
// counted in memory and logged in one record a second, and their pods are kept here until they are
// written, so that bindings find them.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "server/service/namespace_quota.h"
#include "storage/store.h"

namespace assay::server {

struct Unselected {
  std::string cluster;  // name of the principal that asked
  std::string name_space;
  std::string kind;
  std::optional<storage::PodRow> pod;  // to be found by its binding
};

// Thread-safe.
class UnselectedWorkloads {
 public:
  // Groups (cluster, namespace, kind) that one record counts apart; the rest are counted together.
  static constexpr std::size_t kMaxGroups = 128;
  // Pods that wait to be written, and their bytes, about. Beyond, the oldest are forgotten: where a
  // policy may select their namespace, their binding is then one of an unknown pod.
  static constexpr std::size_t kMaxPods = 32'768;
  static constexpr std::size_t kMaxPodBytes = 64U << 20;
  // Rows of one write.
  static constexpr std::size_t kMaxRows = 512;

  // All must outlive it.
  UnselectedWorkloads(storage::Store& store, const Clock& clock, NamespaceQuota& namespace_quota)
      : store_(store), clock_(clock), namespace_quota_(namespace_quota) {}

  void add(Unselected workload);

  // A pod that waits to be written; those that are written are in the store.
  [[nodiscard]] std::optional<storage::PodRow> find(const std::string& cluster,
                                                    const std::string& uid) const;
  // The pod is deleted, or what the store has of it is newer: call it inside of the write that
  // makes it so, so that no flush writes the older row behind it.
  void remove(const std::string& cluster, const std::string& uid);

  // Writes one record (`admission.not-applicable`) with what was counted since the last one, and
  // the rows of all pods; nothing when there is nothing. Call it once a second, and at the end.
  // What could not be written stays, to be written with the next call. A pod with a large workload
  // that is new is forgotten when its namespace used up its hour (namespace_quota.h).
  [[nodiscard]] Status flush();

 private:
  using Group = std::tuple<std::string, std::string, std::string>;  // cluster, namespace, kind
  using PodKey = std::pair<std::string, std::string>;               // cluster, uid

  struct Counts {
    std::optional<Timestamp> since;  // of the first; nothing when all is zero
    std::map<Group, std::uint64_t> groups;
    std::uint64_t others = 0;     // of further groups
    std::uint64_t forgotten = 0;  // pods that were not kept
  };
  struct Waiting {
    storage::PodRow row;
    std::size_t bytes;
    std::uint64_t version;  // a pod that is added again while it is written waits once more
  };

  static Json detail_of(const Counts& counts, Timestamp until);
  static void count(Counts& counts, const Group& group, std::uint64_t number);
  void keep(storage::PodRow row);
  [[nodiscard]] bool is_current(const Waiting& waiting) const;  // under mutex_
  void drop(std::map<PodKey, std::list<Waiting>::iterator>::iterator found);
  void forget(const Waiting& waiting);
  void restore(Counts counts);
  using Rooms = std::vector<std::unique_ptr<NamespaceQuota::Room>>;

  [[nodiscard]] std::vector<Waiting> oldest() const;
  [[nodiscard]] Result<Rooms> make_room(std::vector<Waiting>& rows);
  [[nodiscard]] Result<bool> write_some(const Counts& counts);

  storage::Store& store_;
  const Clock& clock_;
  NamespaceQuota& namespace_quota_;
  std::mutex flushing_;  // one flush at a time
  mutable std::mutex mutex_;
  Counts counts_;
  std::list<Waiting> pods_;  // oldest first
  std::map<PodKey, std::list<Waiting>::iterator> by_key_;
  std::size_t bytes_ = 0;
  std::uint64_t version_ = 0;
};

}  // namespace assay::server
