// SPDX-License-Identifier: Apache-2.0
// Finds the node of a stored pod. A stored pod has a list of nodes that were allowed for the pod.
// It also has a settled node once the API server has said where the pod is.
#pragma once

#include <string>

#include "schemas/decision.h"
#include "storage/pod_store.h"

namespace assay::server {

// The node that a question is about, and whether the pod may be there.
struct PodNode {
  std::string node;  // empty: the pod has no node, or several are possible
  ConditionResult condition;
};

// Finds the node of a pod: `asked` if it is not empty, else the settled node, else the allowed node
// if there is only one. The condition "pod-node" passes when this node was allowed and no other
// node is settled. It also passes when `asked` is empty and the pod has neither a settled node nor
// allowed nodes. Otherwise the condition fails with node-unknown.
[[nodiscard]] PodNode node_of_pod(const storage::PodRow& row, const std::string& asked);

}  // namespace assay::server
