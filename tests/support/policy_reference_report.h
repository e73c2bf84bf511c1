// SPDX-License-Identifier: Apache-2.0
// The second evaluator: what a policy asks of the reports of a node.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "tests/support/policy_reference.h"

namespace assay::policy::reference {

struct ReportQuestion {
  const Facts& facts;  // with a node
  const std::string& node;
  Timestamp now;
  bool pod;
  const std::set<std::string>& bound;   // locations that the pod mounts
  const std::set<std::string>& filled;  // volumes that it fills, and that may hold this model
  bool below_not;
  const std::vector<const Facts*>& others;  // models that these may hold instead
};

[[nodiscard]] Answer judge_reports(const ReportCondition& condition,
                                   const ReportQuestion& question);

}  // namespace assay::policy::reference
