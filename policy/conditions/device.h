// SPDX-License-Identifier: Apache-2.0
// Judges demands on the devices of a node (schemas/device_demands.h). Internal to policy.
#pragma once

#include <string>
#include <vector>

#include "policy/conditions/checks.h"
#include "policy/facts.h"
#include "schemas/device_demands.h"

namespace assay::policy {

// Adds what the devices lack to `checks`, and what was looked at to `actual`. Devices count under
// the vendor's anchor and under `anchors`.
void check_devices(const DeviceDemands& demands, const std::vector<std::string>& anchors,
                   const NodeFact& node, Timestamp now, Checks& checks, Json& actual);

}  // namespace assay::policy
