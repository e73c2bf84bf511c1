// SPDX-License-Identifier: Apache-2.0
// Workloads that no policy selects. They are allowed even when the store cannot be written. Such
// workloads are counted in memory, and the counts are logged in one record a second. Their pods are
// kept in memory until they are written to the store, because a later review, that of the pod's
// binding to a node, needs the pod.
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

// One workload that was allowed because no policy selects it.
struct Unselected {
  std::string cluster;  // name of the caller that asked
  std::string name_space;
  std::string kind;
  std::optional<storage::PodRow> pod;  // kept for the review of its binding
  bool replaces = false;  // true: an older row of the pod is known, and must not be used any more
};

// Counts unselected workloads and keeps their pods until flush() writes the counts and the pods.
// Thread-safe.
class UnselectedWorkloads {
 public:
  // Limit on the groups (cluster, namespace, kind) that one record counts separately. Further
  // groups are counted together.
  static constexpr std::size_t kMaxGroups = 128;
  // Limits on the pods waiting to be written, and on their approximate bytes. Beyond these limits,
  // the oldest pods are forgotten. A forgotten pod is unknown: flush() removes an older row that
  // the store has of the pod. Its binding is denied where a policy in mode enforce may select its
  // namespace.
  static constexpr std::size_t kMaxPods = 32'768;
  static constexpr std::size_t kMaxPodBytes = 64U << 20;
  // Limit on the forgotten pods whose older rows the store may still have.
  static constexpr std::size_t kMaxForgotten = 4096;
  // Limit on the pods that one write to the store contains.
  static constexpr std::size_t kMaxRows = 512;

  // All arguments must outlive this object.
  UnselectedWorkloads(storage::Store& store, const Clock& clock, NamespaceQuota& namespace_quota)
      : store_(store), clock_(clock), namespace_quota_(namespace_quota) {}

  // Counts `workload` and keeps its pod, if any. Returns false, and leaves what is known of the
  // pod, when the pod replaces an older row and kMaxForgotten others are forgotten already, so that
  // nothing could remember that this pod was forgotten, too. The caller must then refuse the change
  // of the pod.
  [[nodiscard]] bool add(Unselected workload);

  // What this object knows about a pod. The caller must use it instead of the store's row.
  struct Held {
    std::optional<storage::PodRow> row;  // nullopt: forgotten, so the pod is unknown
  };
  // Returns nullopt for a pod that is only in the store, or nowhere.
  [[nodiscard]] std::optional<Held> find(const std::string& cluster, const std::string& uid) const;
  // Removes a waiting pod, because the pod was deleted or the store has a newer row. Call it inside
  // the write that deletes or updates the row, so no later flush writes the older row.
  void remove(const std::string& cluster, const std::string& uid);

  // Writes one record (`admission.not-applicable`) with the counts since the last record, and the
  // rows of all waiting pods. Writes no record when all counts are zero. The owner must call it
  // once a second, and when the service stops. What could not be written is written by the next
  // call. A new pod with a large workload is forgotten when its namespace has used up its quota for
  // the hour (namespace_quota.h).
  [[nodiscard]] Status flush();

 private:
  using Group = std::tuple<std::string, std::string, std::string>;  // cluster, namespace, kind
  using PodKey = std::pair<std::string, std::string>;               // cluster, uid

  struct Counts {
    std::optional<Timestamp> since;  // time of the first count; nullopt when all are zero
    std::map<Group, std::uint64_t> groups;
    std::uint64_t others = 0;     // workloads of further groups
    std::uint64_t forgotten = 0;  // pods that were forgotten
  };
  struct Waiting {
    storage::PodRow row;
    std::size_t bytes;
    std::uint64_t version;  // changes when the pod is added again, also during its write
    bool replaces;          // as in Unselected
  };

  static Json detail_of(const Counts& counts, Timestamp until);
  static void count(Counts& counts, const Group& group, std::uint64_t number);
  [[nodiscard]] bool keep(storage::PodRow row, bool replaces);
  [[nodiscard]] bool is_current(const Waiting& waiting) const;                      // needs mutex_
  [[nodiscard]] bool is_forgotten(const PodKey& key, std::uint64_t version) const;  // needs mutex_
  void drop(std::map<PodKey, std::list<Waiting>::iterator>::iterator found);
  [[nodiscard]] bool forget_oldest();                    // needs mutex_
  [[nodiscard]] bool mark_forgotten(const PodKey& key);  // needs mutex_
  void forget(const Waiting& waiting);
  void restore(Counts counts);
  using Forgotten = std::map<PodKey, std::uint64_t>;  // with the version of forgetting
  using Rooms = std::vector<std::unique_ptr<NamespaceQuota::Room>>;

  [[nodiscard]] std::vector<Waiting> oldest() const;
  [[nodiscard]] Forgotten forgotten() const;
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
  Forgotten forgotten_;  // pods whose rows in the store must go; at most kMaxForgotten
  std::size_t bytes_ = 0;
  std::uint64_t version_ = 0;
};

}  // namespace assay::server
