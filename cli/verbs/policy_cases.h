// SPDX-License-Identifier: Apache-2.0
// Cases that say what a policy shall answer, and what it does answer. Pure functions: no file is
// read, no service is asked.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "policy/evaluate.h"
#include "schemas/core/json.h"

namespace assay::cli {

// One question with the answer that is expected.
struct PolicyCase {
  std::string name{};
  std::vector<policy::Facts> models{};
  policy::Workload workload{};
  DecisionPoint point = DecisionPoint::kCreate;
  Timestamp now{};
  std::vector<ConditionResult> preconditions{};  // of an exported decision
  std::string expect{};                          // "allow", "deny", or empty
  std::vector<std::string> reasons{};            // codes that the answer must have
};

struct CaseResult {
  bool selected;  // the policies select the workload
  Verdict verdict;
  std::string problem;  // why the answer is not as expected; empty: it is
};

// Reads the cases in JSON: {"cases": [...]}, one case, or the facts of one. Members "facts",
// "workload", "point" and "now" beside "cases" are those of every case that has none of its own;
// the member "change" of a case, a JSON Patch (RFC 6902) of at most 64 operations add, remove,
// replace and test, is applied to the case with them. What is still left out is as in `base`. The
// caller bounds the size of `json`. Errors: usage when there is no case; schema-violation, with the
// place in the JSON; those of reading it.
[[nodiscard]] Result<std::vector<PolicyCase>> parse_cases(ByteView json, const PolicyCase& base);

[[nodiscard]] CaseResult judge_case(const PolicyCase& one,
                                    std::span<const policy::ActivePolicy> policies);

}  // namespace assay::cli
