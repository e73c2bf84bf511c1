// SPDX-License-Identifier: Apache-2.0
#include "server/service/kubernetes/pod_node.h"

#include <algorithm>

namespace assay::server {
namespace {

std::string chosen(const storage::PodRow& row, const std::string& asked) {
  if (!asked.empty()) {
    return asked;
  }
  if (!row.settled.empty()) {
    return row.settled;
  }
  return row.nodes.size() == 1 ? row.nodes.front() : std::string();
}

}  // namespace

PodNode node_of_pod(const storage::PodRow& row, const std::string& asked) {
  PodNode found{chosen(row, asked),
                {"pod-node",
                 Outcome::kFail,
                 Reason::kNodeUnknown,
                 "a node that was allowed for this pod, and has it",
                 nullptr,
                 {},
                 {}}};
  const bool allowed = std::ranges::find(row.nodes, found.node) != row.nodes.end();
  const bool there = row.settled.empty() || row.settled == found.node;
  const bool waits = found.node.empty() && row.nodes.empty();
  if ((allowed && there) || waits) {
    found.condition.outcome = Outcome::kPass;
    found.condition.code.reset();
  }
  found.condition.actual = {{"node", found.node}, {"allowed", row.nodes}};
  if (!row.settled.empty()) {
    found.condition.actual["settled"] = row.settled;
  }
  return found;
}

}  // namespace assay::server
