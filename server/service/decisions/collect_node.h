// SPDX-License-Identifier: Apache-2.0
// Reads facts from stored rows: about a node, its reports, and the claims of a pod.
#pragma once

#include <string>
#include <vector>

#include "policy/facts.h"
#include "storage/store.h"

namespace assay::server {

// Limit on the places with reports, of one node about one artifact, that a decision looks at.
// Beyond, the error is limit-exceeded, and callers answer deny.
inline constexpr std::size_t kMaxReportPlaces = 256;

// A question about the node of a workload.
struct NodeQuestion {
  const policy::Workload& workload;      // including its node
  std::string cluster{};                 // cluster of the pod
  std::string pod_uid{};                 // at serve: reports on this pod's own mounts count
  std::vector<std::string> locations{};  // without a pod: locations that need reports; empty: all
};
// Returns what is known of the claims that the workload mounts.
[[nodiscard]] Result<std::vector<policy::ClaimFact>> known_claims(storage::Snapshot& snapshot,
                                                                  const policy::Workload& workload,
                                                                  const std::string& cluster);
// Adds to `facts` what the store knows of the node: its enrolment with the newest accepted
// evidence, and the newest report about facts.artifact of each scope and place. For a pod, the
// places are its mounts and the locations of the model around those; at serve also the pod's own
// mounts. Without a pod, they are the locations asked for, else every place with a report. Reports
// on device memory count without a location. Bytes read before the machine had the node's name do
// not count. A node that never enrolled adds nothing.
[[nodiscard]] Status collect_node(storage::Snapshot& snapshot, const NodeQuestion& question,
                                  policy::Facts& facts);

}  // namespace assay::server
