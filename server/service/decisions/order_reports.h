// SPDX-License-Identifier: Apache-2.0
// Creates verification jobs for the reports that a decision at bind found missing or outdated (a
// report is a node's signed account of what it read).
#pragma once

#include <string>
#include <vector>

#include "server/service/decisions/decide.h"

namespace assay::server {

// Creates a job for each location at which a policy in mode enforce or warn still needs a report by
// the node (policy::kToVerify in policy/evaluate.h). Another decision about the pod creates no
// second job for the same work (order_job() in jobs/jobs.h). Each job is created after the
// decision, in a write of its own to `store` (Services::store or a handle of it). If a job cannot
// be created, the decision does not change. Creates no jobs at decision points other than bind.
// Returns the new jobs, and the open jobs for the same work.
[[nodiscard]] std::vector<OrderedJob> order_reports(Services& services, storage::Store& store,
                                                    const std::string& cluster,
                                                    const std::string& node,
                                                    const Decision& decision);

}  // namespace assay::server
