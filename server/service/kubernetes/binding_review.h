// SPDX-License-Identifier: Apache-2.0
// Reviews of bindings, which send a pod to a node. The pod is judged as it was at its admission, by
// the policies in force at the binding.
#pragma once

#include <string>

#include "server/service/kubernetes/judging.h"

namespace assay::server {

// Decides the remembered pod at bind. Nothing is read from the pod itself. Annotations of the
// binding count as the pod's.
[[nodiscard]] Result<ReviewAnswer> judge_binding(const Asking& asking, const Review& review);

}  // namespace assay::server
