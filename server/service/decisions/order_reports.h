// SPDX-License-Identifier: Apache-2.0
// What a decision at bind misses, the node can be told to do.
#pragma once

#include <string>
#include <vector>

#include "server/service/decisions/decide.h"

namespace assay::server {

// Orders a job for each location on which an enforced or warning policy misses a report of the node
// that counts: once, however often the pod of this cluster is tried (see order_job). After the
// decision and in a write of its own: when a job cannot be made the decision stays what it is.
// Nothing is ordered at other points.
[[nodiscard]] std::vector<OrderedJob> order_reports(Services& services, const std::string& cluster,
                                                    const std::string& node,
                                                    const Decision& decision);

}  // namespace assay::server
