// SPDX-License-Identifier: Apache-2.0
// Reviews of bindings, which send a pod to a node. The pod is judged as it was at its admission, by
// the policies in force at the binding.
#pragma once

#include <string>

#include "server/service/kubernetes/judging.h"

namespace assay::server {

// Decides at bind about the pod as it was stored at its admission (judging.h). Annotations of the
// binding are read like annotations of the pod, because Kubernetes copies them to the pod.
[[nodiscard]] Result<ReviewAnswer> judge_binding(const WebhookCall& asking, const Review& review);

}  // namespace assay::server
