// SPDX-License-Identifier: Apache-2.0
// Orders verification jobs for the reports that a decision at bind did not find.
#pragma once

#include <string>
#include <vector>

#include "server/service/decisions/decide.h"

namespace assay::server {

// Orders a job for each location on which a policy in mode enforce or warn misses a report of the
// node. Trying the pod again orders no further job (see order_job). Each job is made after the
// decision, in a write of its own; if a job cannot be made, the decision does not change. Orders
// nothing at points other than bind.
[[nodiscard]] std::vector<OrderedJob> order_reports(Services& services, const std::string& cluster,
                                                    const std::string& node,
                                                    const Decision& decision);

}  // namespace assay::server
