// SPDX-License-Identifier: Apache-2.0
// Judges reviews of pods and of objects that make pods. A new pod is stored as it was judged, and
// later reviews use the stored pod. The pod in a later review is read, instead of the stored pod,
// only when an update changes what the pod mounts or runs.
#pragma once

#include <string>

#include "server/service/kubernetes/judging.h"

namespace assay::server {

// Whether a policy selects the pod of the review. A pod beyond the limits of workload_of() may be
// any pod: then, whether a policy in mode enforce selects any pods of its namespace.
[[nodiscard]] Result<bool> may_be_selected(const WebhookCall& asking, const Review& review);

// Judges a pod when it is created, and when an update changes what it mounts or runs.
[[nodiscard]] Result<ReviewAnswer> judge_pod(const WebhookCall& asking, const Review& review);
// Allows a template (an object that makes pods). Warnings say why pods of the template would be
// denied. Stores nothing.
[[nodiscard]] ReviewAnswer advise_template(const WebhookCall& asking, const Review& review);
// Removes a pod from the store when the cluster deletes the pod. Allows the review even when the
// removal fails.
[[nodiscard]] ReviewAnswer forget_pod(const WebhookCall& asking, const Review& review);

}  // namespace assay::server
