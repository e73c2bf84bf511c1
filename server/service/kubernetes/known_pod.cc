// SPDX-License-Identifier: Apache-2.0
#include "server/service/kubernetes/known_pod.h"

#include <utility>

#include "server/service/kubernetes/review.h"

namespace assay::server {

Result<KnownPod> find_pod(Services& services, const std::string& cluster, const std::string& uid) {
  const bool possible = !uid.empty() && uid.size() <= kMaxObjectName;
  auto waiting = possible ? services.unselected.find(cluster, uid) : std::nullopt;
  KnownPod known;
  ASSAY_ASSIGN(known.snapshot, services.store.snapshot());
  if (!possible) {
    return known;
  }
  if (waiting) {
    known.row = std::move(waiting->row);
    return known;
  }
  auto row = known.snapshot->pod(cluster, uid);
  if (row) {
    known.row = std::move(*row);
  } else if (row.error().code != ErrorCode::kNotFound) {
    return std::unexpected(std::move(row).error());
  }
  return known;
}

}  // namespace assay::server
