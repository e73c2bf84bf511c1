// SPDX-License-Identifier: Apache-2.0
// Creates verification jobs for the reports that were missing in a decision at bind.
#pragma once

#include <string>
#include <vector>

#include "server/service/decisions/decide.h"

namespace assay::server {

// Creates a job for each location for which a policy in mode enforce or warn needs a report by the
// node that is missing. Another decision about the pod creates no second job (order_job() in
// jobs/jobs.h). Each job is created after the decision, in a write of its own. If a job cannot be
// created, the decision does not change. Creates no jobs at decision points other than bind.
// Returns the new jobs, and the open jobs for the same work.
[[nodiscard]] std::vector<OrderedJob> order_reports(Services& services, const std::string& cluster,
                                                    const std::string& node,
                                                    const Decision& decision);

}  // namespace assay::server
