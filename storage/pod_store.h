// SPDX-License-Identifier: Apache-2.0
// The part of the store about pods: admitted pods, and the persistent volume claims that they
// mount. Used through Snapshot and Transaction (storage/store.h), whose rules apply here too.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "schemas/core/clock.h"
#include "schemas/core/json.h"
#include "schemas/decision.h"

namespace assay::storage {

// An admitted pod. The binding of the pod to a node and later changes to the pod are judged with
// this row. Models and workload are stored as they were judged at admission, and are not read from
// the pod again.
struct PodRow {
  std::string cluster;  // caller of the service whose API server reported the pod
  std::string uid;
  std::string name_space;
  std::string name;
  // Nodes that the pod may have gone to, because the service allowed a binding to the node or the
  // pod named the node when it was created. Oldest first, each once, at most kMaxPodNodes. The API
  // server may still refuse an allowed binding, so the node is uncertain until `settled` is set.
  std::vector<std::string> nodes = {};
  // The pod's node as the API server has stored it, whether or not the service allowed the binding.
  // Empty: unknown.
  std::string settled = {};
  std::string decision;  // newest decision that allowed the pod; empty: no policy selected the pod
  std::vector<DecidedModel> models = {};
  // Canonical form of policy::Workload. A large workload is stored as a document that pods of one
  // template share (storage/large_workload.h).
  Json workload = Json::object();
  Timestamp admitted_at;
  bool operator==(const PodRow&) const = default;
};

// What a pod is kept under.
struct PodKey {
  std::string cluster{};
  std::string uid{};
  auto operator<=>(const PodKey&) const = default;
};

// Nodes kept for one pod; when there are more, the oldest is dropped.
inline constexpr std::size_t kMaxPodNodes = 16;

// How long a pod without a node and a pod with one are kept when no admission review reports their
// deletion. Such a review may be lost, and a pod that was judged may never have been created.
inline constexpr std::chrono::hours kKeepUnboundPod{30 * 24};
inline constexpr std::chrono::hours kKeepBoundPod{400 * 24};
// How long a claim is kept when no review mentions the claim and no judged pod that mounts the
// claim is bound.
inline constexpr std::chrono::hours kKeepClaim = kKeepBoundPod;

// What Kubernetes admission reviews said about a persistent volume claim. A claim that is recreated
// under the same name has another uid and another volume.
struct ClaimRow {
  std::string cluster;
  std::string name_space;
  std::string name;
  std::string uid;
  std::string volume;  // name of the persistent volume; empty before it is bound
  Timestamp since{};   // when this uid and volume were first reported; set by the store
  bool operator==(const ClaimRow&) const = default;
};

class PodReads {
 public:
  virtual ~PodReads() = default;

  // Errors: not-found when no such pod was admitted, or when the pod was deleted or dropped.
  [[nodiscard]] virtual Result<PodRow> pod(const std::string& cluster, const std::string& uid) = 0;
  // Returns pods behind `after` (cluster and uid; both empty: from the first), ascending by cluster
  // and uid. Errors: invalid-parameter for a limit that is not 1 to 1000.
  [[nodiscard]] virtual Result<std::vector<PodRow>> pods(const PodKey& after,
                                                         std::size_t limit) = 0;
  [[nodiscard]] virtual Result<ClaimRow> claim(const std::string& cluster,
                                               const std::string& name_space,
                                               const std::string& name) = 0;
};

class PodWrites {
 public:
  virtual ~PodWrites() = default;

  // Inserts or replaces the row of this cluster and uid. Also drops a few pods that were admitted
  // longer ago than kKeepUnboundPod or kKeepBoundPod.
  [[nodiscard]] virtual Status put_pod(const PodRow& row) = 0;
  // Removes a pod. Changes nothing when there is no such pod.
  [[nodiscard]] virtual Status remove_pod(const std::string& cluster, const std::string& uid) = 0;
  // Replaces the row of the claim with this name, whatever its uid. Each put of the row restarts
  // the period kKeepClaim. Also drops a few claims that were put longer ago than kKeepClaim.
  [[nodiscard]] virtual Status put_claim(const ClaimRow& row) = 0;
  // Removes a claim. Changes nothing when the claim of this name has another uid.
  [[nodiscard]] virtual Status remove_claim(const std::string& cluster,
                                            const std::string& name_space, const std::string& name,
                                            const std::string& uid) = 0;
};

}  // namespace assay::storage
