// SPDX-License-Identifier: Apache-2.0
// Computes which locations of a model the mutating webhook may write into a pod.
#pragma once

#include <set>
#include <span>
#include <string>

#include "policy/evaluate.h"

namespace assay::policy {

// Returns the locations of the model that every matching policy in mode enforce or warn accepts
// (locations_of() in policy/locations.h). Returns an empty set when no policy in these modes
// matches the workload.
[[nodiscard]] std::set<std::string> locations_for_all(std::span<const ActivePolicy> policies,
                                                      const Workload& workload, const Facts& model,
                                                      Timestamp now);

}  // namespace assay::policy
