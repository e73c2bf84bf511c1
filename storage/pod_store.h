// SPDX-License-Identifier: Apache-2.0
// The part of the store that is about pods: those that were admitted, and the persistent volume
// claims that they mount. Read and written through Snapshot and Transaction (storage/store.h),
// whose rules hold here too.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "schemas/core/clock.h"
#include "schemas/core/json.h"
#include "schemas/decision.h"

namespace assay::storage {

// A pod that was admitted: what its binding and later changes are about. Its model and its workload
// are kept as they were judged; nothing of that is read from the pod again.
struct PodRow {
  std::string cluster;  // name of the principal whose API server spoke of it
  std::string uid;
  std::string name_space;
  std::string name;
  // Nodes that the pod may have gone to: a binding was allowed, or the pod named its node when it
  // came. Oldest first, each once, at most kMaxPodNodes. A binding that is allowed may still be
  // refused by the API server: which node it is stays open until `settled`.
  std::vector<std::string> nodes = {};
  // The node of the pod as the API server has stored it, allowed or not; empty: not known.
  std::string settled = {};
  std::string decision;  // id of the newest that allowed it; empty when no policy selected it
  std::vector<DecidedModel> models = {};
  // Canonical form of policy::Workload. A large one is a document that pods of one template share.
  Json workload = Json::object();
  Timestamp admitted_at;
  bool operator==(const PodRow&) const = default;
};

// Nodes that are kept of one pod; beyond, the oldest is forgotten.
inline constexpr std::size_t kMaxPodNodes = 16;

// How long pods are kept that nobody deletes: DELETE reviews may be lost, and a pod that was judged
// may never have come to be.
inline constexpr std::chrono::hours kKeepUnboundPod{30 * 24};
inline constexpr std::chrono::hours kKeepBoundPod{400 * 24};
// How long a claim is kept of which nothing is heard, and with which no judged pod is bound.
inline constexpr std::chrono::hours kKeepClaim = kKeepBoundPod;

// What reviews said of a persistent volume claim. A claim made again under its name has another
// uid, and another volume.
struct ClaimRow {
  std::string cluster;
  std::string name_space;
  std::string name;
  std::string uid;
  std::string volume;  // name of the persistent volume; empty before it is bound
  Timestamp since{};   // when uid and volume were said first; the store sets it
  bool operator==(const ClaimRow&) const = default;
};

class PodReads {
 public:
  virtual ~PodReads() = default;

  // not-found when no such pod was admitted, or when it is deleted or forgotten.
  [[nodiscard]] virtual Result<PodRow> pod(const std::string& cluster, const std::string& uid) = 0;
  [[nodiscard]] virtual Result<ClaimRow> claim(const std::string& cluster,
                                               const std::string& name_space,
                                               const std::string& name) = 0;
};

class PodWrites {
 public:
  virtual ~PodWrites() = default;

  // Inserts or replaces the row of this cluster and uid. Also forgets a few pods that were admitted
  // longer ago than kKeepUnboundPod or kKeepBoundPod.
  [[nodiscard]] virtual Status put_pod(const PodRow& row) = 0;
  // Removing what is not there changes nothing.
  [[nodiscard]] virtual Status remove_pod(const std::string& cluster, const std::string& uid) = 0;
  // Replaces what is known of the claim of this name, whatever uid it has. The same again keeps the
  // claim from being forgotten. Also forgets a few claims that were put longer ago than kKeepClaim.
  [[nodiscard]] virtual Status put_claim(const ClaimRow& row) = 0;
  // Nothing happens when the claim of this name has another uid.
  [[nodiscard]] virtual Status remove_claim(const std::string& cluster,
                                            const std::string& name_space, const std::string& name,
                                            const std::string& uid) = 0;
};

}  // namespace assay::storage
