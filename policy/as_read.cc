// SPDX-License-Identifier: Apache-2.0
#include "policy/as_read.h"

#include <algorithm>

namespace assay::policy {

Workload as_read(Workload workload, std::span<const ActivePolicy> policies) {
  std::erase_if(workload.labels, [&](const auto& label) {
    return std::none_of(policies.begin(), policies.end(), [&](const ActivePolicy& policy) {
      return policy.document.match.labels.contains(label.first);
    });
  });
  const bool images = std::any_of(policies.begin(), policies.end(), [](const ActivePolicy& policy) {
    return !policy.document.images.empty() || !policy.document.fill_at_run.empty();
  });
  if (!images) {
    for (ContainerImage& one : workload.images) {
      one.image.clear();
    }
  }
  return workload;
}

}  // namespace assay::policy
