// SPDX-License-Identifier: Apache-2.0
// Finds the pod that earlier reviews told of: in the store, or still waiting to be written there.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "server/service/services.h"
#include "storage/store.h"

namespace assay::server {

struct KnownPod {
  std::optional<storage::PodRow> row;  // nullopt: no such pod is known
  // Opened after the waiting pods were looked at, so that a pod that is written meanwhile is found
  // in one of the two. Never null.
  std::unique_ptr<storage::Snapshot> snapshot;
};
// Returns the pod with this uid that a review of this cluster told of. A uid that no pod can have
// is not known. Errors: those of the store.
[[nodiscard]] Result<KnownPod> find_pod(Services& services, const std::string& cluster,
                                        const std::string& uid);

}  // namespace assay::server
