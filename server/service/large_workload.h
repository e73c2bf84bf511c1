// SPDX-License-Identifier: Apache-2.0
// What a pod's row adds to the database for ever: a workload that the store keeps apart from it.
#pragma once

#include <optional>
#include <string>

#include "storage/store.h"

namespace assay::server {

struct LargeWorkload {
  DocumentId id;
  std::string bytes;  // canonical JSON
};

// The document that the row's workload becomes; nothing when it stands in the row.
[[nodiscard]] Result<std::optional<LargeWorkload>> large_workload(const storage::PodRow& row);

}  // namespace assay::server
