// SPDX-License-Identifier: Apache-2.0
// Reads facts about a node (policy/facts.h), its reports, and the volume claims of a pod from the
// store.
#pragma once

#include <string>
#include <vector>

#include "policy/facts.h"
#include "server/service/services.h"
#include "storage/store.h"

namespace assay::server {

// Limit on the places for which a decision reads the reports of one node about one artifact. A
// place is a location or a mount of a pod. For more places, collect_node() fails with
// limit-exceeded, and callers answer deny.
inline constexpr std::size_t kMaxReportPlaces = 256;

// A question about the node of a workload.
struct NodeQuestion {
  const policy::Workload& workload;  // including its node
  std::string cluster{};             // cluster of the pod
  std::string pod_uid{};             // at serve: also read reports on this pod's own mounts
  bool serve = false;                // also read reports on memory, and heartbeats
  // Without a pod: the locations whose reports are read. Empty: all locations.
  std::vector<std::string> locations{};
};
// Returns what the store knows about the volume claims that the workload mounts.
[[nodiscard]] Result<std::vector<policy::ClaimFact>> known_claims(storage::Snapshot& snapshot,
                                                                  const policy::Workload& workload,
                                                                  const std::string& cluster);
// Adds to `facts` what the store knows about the node: its enrolment with the newest accepted
// evidence (docs/glossary.md explains both words), and the newest report about facts.artifact for
// each scope and place. If the workload is a pod, the places are the locations that the pod mounts,
// and the locations of the model that contain a mounted location. At serve, this pod's own mounts
// are places, too. If the workload is not a pod, the places are the locations of the question, or
// every place with a report if the question names none. At serve, adds the newest report on each
// model instance in the memory of the pod (without a pod: instances that run in no pod), and what
// the newest heartbeat says about these instances. A report is ignored if its bytes were read
// before this machine had the node's name. If the node never enrolled, `facts` stays unchanged.
[[nodiscard]] Status collect_node(Services& services, storage::Snapshot& snapshot,
                                  const NodeQuestion& question, policy::Facts& facts);

}  // namespace assay::server
