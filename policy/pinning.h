// SPDX-License-Identifier: Apache-2.0
// Which locations of a model mutation may write into a pod.
#pragma once

#include <set>
#include <span>
#include <string>

#include "policy/evaluate.h"

namespace assay::policy {

// Locations of the model that count for every policy in mode enforce or warn that matches the
// workload (policy/reference.h); none when no policy does.
[[nodiscard]] std::set<std::string> locations_for_all(std::span<const ActivePolicy> policies,
                                                      const Workload& workload, const Facts& model,
                                                      Timestamp now);

}  // namespace assay::policy
