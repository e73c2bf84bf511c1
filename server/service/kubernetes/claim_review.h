// SPDX-License-Identifier: Apache-2.0
// Reviews of persistent volume claims. They say which volume is behind each claim. They are needed
// because a report about pvc://NAMESPACE/CLAIM is valid only for the volume that was read.
#pragma once

#include <string>

#include "server/service/kubernetes/judging.h"

namespace assay::server {

// Allows the review and stores which volume is behind the claim. Denies a new claim that says that
// it is already bound, if another claim is stored under its name. Returns an Error, and so denies
// the review, when the stored volume is wrong and cannot be changed in the store.
[[nodiscard]] Result<ReviewAnswer> record_claim(const Asking& asking, const Review& review);

}  // namespace assay::server
