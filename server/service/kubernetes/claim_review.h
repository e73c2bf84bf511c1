// SPDX-License-Identifier: Apache-2.0
// Reviews of persistent volume claims. From these reviews, the service learns which volume is
// behind each claim. This is needed because a report (a node's signed account of what it read)
// about pvc://NAMESPACE/CLAIM is valid only for the volume that was read.
#pragma once

#include <string>

#include "server/service/kubernetes/judging.h"

namespace assay::server {

// Allows the review and stores which volume is behind the claim. If another claim is stored under
// the same name, denies a new claim that says that it is already bound to a volume. Returns an
// Error, and so denies the review, when the stored volume is wrong and cannot be changed in the
// store.
[[nodiscard]] Result<ReviewAnswer> record_claim(const WebhookCall& asking, const Review& review);

}  // namespace assay::server
