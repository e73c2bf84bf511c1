// SPDX-License-Identifier: Apache-2.0
// The node of a pod that is known: one that was allowed for it, and where it really is.
#pragma once

#include <string>

#include "schemas/decision.h"
#include "storage/pod_store.h"

namespace assay::server {

struct PodNode {
  std::string node;  // that the question is about; empty: the pod has none yet
  ConditionResult condition;
};

// `asked` is the node that the question names; empty: it names none. The condition "pod-node" holds
// when the node is the settled one, or one of those that were allowed as long as none is settled.
// It fails with node-unknown for a node that was never allowed, for another than the settled one,
// and when several were allowed and nobody says which of them has the pod.
[[nodiscard]] PodNode node_of_pod(const storage::PodRow& row, const std::string& asked);

}  // namespace assay::server
