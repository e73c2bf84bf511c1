// SPDX-License-Identifier: Apache-2.0
// Looks when the collateral that the service keeps (service/nodes/collateral.h) ends, for metrics
// and for the log.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>

#include "server/metrics.h"
#include "server/operational_log.h"
#include "storage/store.h"

namespace assay::server {

// Intel issues collateral for 30 days and renews it each day. Somebody may have to carry it.
inline constexpr std::chrono::days kCollateralWarning{14};

// Thread-safe.
class CollateralWatch {
 public:
  // Sets the metrics. Once a day and kind of part, warns of a part that ends within
  // kCollateralWarning ("collateral_expires") or has ended ("collateral_expired").
  void look(storage::Store& store, Timestamp now, Metrics& metrics, Log& log);

 private:
  std::mutex mutex_;
  std::map<std::string, Timestamp> noted_;  // by kind: when the log last spoke of it
};

}  // namespace assay::server
