// SPDX-License-Identifier: Apache-2.0
// Judging reviews of pods and of what makes them. What was judged when a pod was made is kept, and
// later reviews of the pod are about that: only a change of what it mounts or runs is read again.
#pragma once

#include <string>

#include "server/service/kubernetes/judging.h"

namespace assay::server {

// Pods when they are made, and when it changes what they mount or run.
[[nodiscard]] Result<ReviewAnswer> judge_pod(const Asking& asking, const Review& review);
// Never denied: warnings say what pods of the template would be denied for. Nothing is stored.
[[nodiscard]] ReviewAnswer advise_template(const Asking& asking, const Review& review);
// Forgets a pod that is being deleted; allowed whatever comes of that.
[[nodiscard]] ReviewAnswer forget_pod(const Asking& asking, const Review& review);

}  // namespace assay::server
