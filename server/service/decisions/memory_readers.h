// SPDX-License-Identifier: Apache-2.0
// The devices that read memory for a report, held against the evidence of the node's devices.
#pragma once

#include <map>
#include <string>

#include "policy/facts.h"

namespace assay::server {

// Sets in `report` whether every device that read for it is one of `node` with evidence that
// counts, and gave such evidence before it read; when that evidence ends; and under which anchors
// it is. `shown` says by UUID since when a device gives evidence. That the evidence has ended, and
// whether a policy takes its anchors, is judged with the decision.
void attest_readers(const policy::NodeFact& node, const std::map<std::string, Timestamp>& shown,
                    policy::ReportFact& report);

}  // namespace assay::server
