// SPDX-License-Identifier: Apache-2.0
#include "storage/large_workload.h"

#include <utility>

#include "schemas/core/sha.h"

namespace assay::storage {

Result<std::optional<LargeWorkload>> large_workload(const Json& workload) {
  ASSAY_ASSIGN(std::string bytes, canonical_json(workload));
  if (bytes.size() <= kMaxWorkloadInRow) {
    return std::nullopt;
  }
  DocumentId id(sha256(as_bytes(bytes)));
  return LargeWorkload{std::move(id), std::move(bytes)};
}

}  // namespace assay::storage
