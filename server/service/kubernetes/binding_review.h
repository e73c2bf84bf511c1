// SPDX-License-Identifier: Apache-2.0
// A pod goes to a node: it is judged as it was when it was admitted, by the policies in force now.
#pragma once

#include <string>

#include "server/service/kubernetes/judging.h"

namespace assay::server {

// The pod that was kept when it was admitted is decided at bind; nothing is read from the pod
// itself.
[[nodiscard]] Result<ReviewAnswer> judge_binding(const Asking& asking, const Review& review);

}  // namespace assay::server
