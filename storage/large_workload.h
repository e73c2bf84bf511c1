// SPDX-License-Identifier: Apache-2.0
// Decides which workloads (what a pod asks to run: policy::Workload in policy/facts.h) are stored
// as documents, outside of the pod's row. Pods of one template share such a document. The store
// uses large_workload() when it writes a pod. Callers use large_workload() to count the bytes that
// a pod adds.
#pragma once

#include <optional>
#include <string>

#include "schemas/core/ids.h"
#include "schemas/core/json.h"

namespace assay::storage {

// Largest workload, in bytes of canonical JSON, that is stored in the pod's row. A longer workload
// is stored as a document.
inline constexpr std::size_t kMaxWorkloadInRow = 16U << 10;

struct LargeWorkload {
  DocumentId id;
  std::string bytes;  // canonical JSON
};

// Returns the document for the workload; nullopt when the workload fits in the row.
[[nodiscard]] Result<std::optional<LargeWorkload>> large_workload(const Json& workload);

}  // namespace assay::storage
