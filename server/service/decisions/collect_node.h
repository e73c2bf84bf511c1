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
  std::string pod_uid{};             // for `serve`: also read reports on this pod's own mounts
  // Whether the decision is at serve (the pod is about to work). If so, also reads reports on
  // memory, and heartbeats.
  bool serve = false;
  // For a workload that is no pod: only reports about these locations are read. Empty: reports
  // about all locations.
  std::vector<std::string> locations{};
  // The artifacts of all models that the decision is about.
  std::vector<ArtifactId> models{};
};
// Returns what the store knows about the volume claims that the workload mounts.
[[nodiscard]] Result<std::vector<policy::ClaimFact>> known_claims(storage::Snapshot& snapshot,
                                                                  const policy::Workload& workload,
                                                                  const std::string& cluster);
// Adds to `facts` what the store knows about the node: its enrolment with the newest accepted
// evidence (docs/glossary.md explains both words), and the newest report about facts.artifact for
// each scope and place. If the workload is a pod, the places are the locations that the pod mounts
// and the locations of the model that contain them. At serve, the places that only this pod mounts
// are added. If the workload is not a pod, the places are the locations of the question, or every
// place with a report if the question names none. At serve, the newest report on each instance in
// memory of the pod is added (without a pod: instances that run in no pod), and what the newest
// heartbeat says about these instances. An instance of the pod whose artifact is none of
// NodeQuestion::models is added for each of these models, as an instance that is not verified. A
// report is ignored if its bytes were read before this machine had the node's name, and for a pod
// also if another volume of the pod has the name of the persistent volume that the node says it
// read. If the node never enrolled, `facts` stays unchanged.
[[nodiscard]] Status collect_node(Services& services, storage::Snapshot& snapshot,
                                  const NodeQuestion& question, policy::Facts& facts);

}  // namespace assay::server
