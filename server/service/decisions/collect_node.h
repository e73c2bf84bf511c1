// SPDX-License-Identifier: Apache-2.0
// From stored rows to facts: what is known of a node, its reports and the claims of a pod.
#pragma once

#include <string>
#include <vector>

#include "policy/facts.h"
#include "server/service/services.h"
#include "storage/store.h"

namespace assay::server {

// Places with reports of one node about one artifact that a decision looks at; more is
// limit-exceeded, hence a deny.
inline constexpr std::size_t kMaxReportPlaces = 256;

// What is asked about the workload's node.
struct NodeQuestion {
  const policy::Workload& workload;      // with its node
  std::string cluster{};                 // of the pod
  std::string pod_uid{};                 // at serve: reports on this pod's own mounts count
  bool serve = false;                    // reports on memory, and heartbeats, count
  std::vector<std::string> locations{};  // without a pod: that reports are wanted on; empty: on all
};
// What is known of the claims that the pod mounts.
[[nodiscard]] Result<std::vector<policy::ClaimFact>> known_claims(storage::Snapshot& snapshot,
                                                                  const policy::Workload& workload,
                                                                  const std::string& cluster);
// Adds what the store knows of the node: its enrolment with the newest accepted evidence, and its
// newest report about facts.artifact of each scope and place: where the pod mounts something, else
// the locations asked for, else every one with a report. At serve also its newest report on each
// instance in memory of the pod (without a pod: of processes that run in none), and what its newest
// heartbeat says of these. A node that never enrolled adds nothing.
[[nodiscard]] Status collect_node(Services& services, storage::Snapshot& snapshot,
                                  const NodeQuestion& question, policy::Facts& facts);

}  // namespace assay::server
