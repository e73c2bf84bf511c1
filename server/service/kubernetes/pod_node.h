// SPDX-License-Identifier: Apache-2.0
// The node of a known pod: nodes that were allowed for the pod, and the node where the pod is.
#pragma once

#include <string>

#include "schemas/decision.h"
#include "storage/pod_store.h"

namespace assay::server {

// The node that a question is about, and whether the pod may be there.
struct PodNode {
  std::string node;  // node of the question; empty: the pod has no node, or no single one is known
  ConditionResult condition;
};

// Checks the node of a pod. `asked` is the node that the question names; empty: none. The condition
// "pod-node" passes for the settled node, if that was allowed. While no node is settled, it passes
// for every allowed node. It also passes when the pod has no node yet and the question names none.
// Otherwise it fails with node-unknown. So it fails for a node that was never allowed and for
// another node than the settled one. It also fails when several nodes were allowed and none is
// named or settled.
[[nodiscard]] PodNode node_of_pod(const storage::PodRow& row, const std::string& asked);

}  // namespace assay::server
