// SPDX-License-Identifier: Apache-2.0
// The case file of a decision: one document with everything that evaluation read beside the
// policies. Stored with the decision, so that replay needs nothing that may have changed since. It
// says its format and the rules by which it was judged.
#pragma once

#include "policy/facts.h"
#include "schemas/decision.h"

namespace assay::server {

struct CaseFile {
  std::vector<policy::Facts> models;  // one when no reference could be resolved, without artifact
  policy::Workload workload;
  std::vector<ConditionResult> preconditions;
  std::vector<StatementId> policies;  // in force when it was decided, in the order evaluated
  DecisionPoint point;
  Timestamp now;
};

// Canonical JSON.
[[nodiscard]] Result<std::string> encode(const CaseFile& file);
// Reads what encode() wrote. case-unsupported when it was written in another format or judged by
// other rules (schemas/decision.h), data-loss for anything else.
[[nodiscard]] Result<CaseFile> parse_case_file(ByteView bytes);

}  // namespace assay::server
