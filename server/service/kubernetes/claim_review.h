// SPDX-License-Identifier: Apache-2.0
// Reviews of persistent volume claims. They say which volume is behind each claim. A report about
// pvc://NAMESPACE/CLAIM counts only for the volume that was read.
#pragma once

#include <string>

#include "server/service/kubernetes/judging.h"

namespace assay::server {

// Allows the review and remembers which volume is behind the claim. Denies it only in two cases. In
// the first, the remembered volume is no longer right and cannot be changed (this case returns an
// Error). In the second, a new claim says that it is bound, while another claim is known under its
// name.
[[nodiscard]] Result<ReviewAnswer> record_claim(const Asking& asking, const Review& review);

}  // namespace assay::server
