// SPDX-License-Identifier: Apache-2.0
// Reviews of persistent volume claims say which volume is behind each: a report about
// pvc://NAMESPACE/CLAIM counts only for the volume that was read.
#pragma once

#include <string>

#include "server/service/kubernetes/judging.h"

namespace assay::server {

// Allowed, and remembered: which volume is behind the claim. Denied only when what is known of the
// claim is no longer true and cannot be changed, and when a new claim says that it is bound while
// another is known under its name.
[[nodiscard]] Result<ReviewAnswer> record_claim(const Asking& asking, const Review& review);

}  // namespace assay::server
