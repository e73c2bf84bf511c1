// SPDX-License-Identifier: Apache-2.0
// Which workloads of pods are documents of their own: pods of one template share theirs. Whoever
// counts what a pod adds to the database, and the store that writes it, ask here.
#pragma once

#include <optional>
#include <string>

#include "schemas/core/ids.h"
#include "schemas/core/json.h"

namespace assay::storage {

// Bytes of a workload that stands in its row, as canonical JSON; a longer one is a document.
inline constexpr std::size_t kMaxWorkloadInRow = 16U << 10;

struct LargeWorkload {
  DocumentId id;
  std::string bytes;  // canonical JSON
};

// The document that the workload becomes; nothing when it stands in the row.
[[nodiscard]] Result<std::optional<LargeWorkload>> large_workload(const Json& workload);

}  // namespace assay::storage
