// SPDX-License-Identifier: Apache-2.0
#include "server/service/large_workload.h"

#include <utility>

#include "schemas/core/sha.h"

namespace assay::server {

Result<std::optional<LargeWorkload>> large_workload(const storage::PodRow& row) {
  ASSAY_ASSIGN(std::string bytes, canonical_json(row.workload));
  if (bytes.size() <= storage::kMaxWorkloadInRow) {
    return std::nullopt;
  }
  DocumentId id(sha256(as_bytes(bytes)));
  return LargeWorkload{std::move(id), std::move(bytes)};
}

}  // namespace assay::server
