// SPDX-License-Identifier: Apache-2.0
// Finds a pod that an earlier admission review contained: in the store, or among the pods that wait
// to be written to the store (unselected.h).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "server/service/services.h"
#include "storage/store.h"

namespace assay::server {

struct KnownPod {
  std::optional<storage::PodRow> row;  // nullopt: no such pod is known
  // The snapshot that was searched. It was opened after the search among the waiting pods, so a pod
  // that is written to the store during the search is not missed. Never null.
  std::unique_ptr<storage::Snapshot> snapshot;
};
// Returns what earlier reviews of this cluster say about the pod with this uid. For a uid that no
// pod can have, `row` is nullopt. Errors: those of the store.
[[nodiscard]] Result<KnownPod> find_pod(Services& services, const std::string& cluster,
                                        const std::string& uid);

}  // namespace assay::server
