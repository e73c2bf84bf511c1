// SPDX-License-Identifier: Apache-2.0
#include "server/collateral_watch.h"

#include "server/service/nodes/collateral.h"

namespace assay::server {

void CollateralWatch::look(storage::Store& store, Timestamp now, Metrics& metrics, Log& log) {
  constexpr std::chrono::hours kDay{24};
  const auto snapshot = store.snapshot();
  const auto ends = snapshot
                        ? collateral_ends(**snapshot, now)
                        : Result<std::vector<CollateralEnd>>(std::unexpected(snapshot.error()));
  if (!ends) {
    log.error("collateral_watch_failed", {{"what", to_string(ends.error())}});
    return;
  }
  const std::scoped_lock lock(mutex_);
  for (const CollateralEnd& end : *ends) {
    metrics.collateral_ends(end.kind, end.next_update);
    const auto noted = noted_.find(end.kind);
    const bool spoken = noted != noted_.end() && now - noted->second < kDay;
    if (spoken || end.next_update - now > kCollateralWarning) {
      continue;
    }
    noted_[end.kind] = now;
    const bool over = end.next_update <= now;
    log.write(over ? LogLevel::kError : LogLevel::kWarn,
              over ? "collateral_expired" : "collateral_expires",
              {{"part", end.name}, {"next_update", to_rfc3339(end.next_update)}});
  }
}

}  // namespace assay::server
