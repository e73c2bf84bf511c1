// SPDX-License-Identifier: Apache-2.0
// Cases that say what a policy shall answer, and what it does answer. No service is asked.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/evaluate.h"
#include "policy/reference_sets.h"

namespace assay::cli {

// One question with the answer that is expected.
struct PolicyCase {
  std::string name{};
  std::vector<policy::Facts> models{};
  policy::Workload workload{};
  DecisionPoint point = DecisionPoint::kCreate;
  Timestamp now{};
  std::string expect{};                // "allow", "deny", or empty
  std::vector<std::string> reasons{};  // codes that the answer must have
};

struct CaseResult {
  bool selected;  // the policies select the workload
  Verdict verdict;
  std::string problem;  // why the answer is not as expected; empty: it is
};

// Reads the cases in a file: {"cases": [...]}, one case, or the facts of one. Members "facts",
// "workload", "point" and "now" beside "cases" are those of every case that has none of its own;
// the member "change" of a case, a JSON Patch (RFC 6902) of at most 64 operations add, remove,
// replace and test, is applied to the case with them. What is still left out is as in `base`.
// Errors: usage for a file without a case; schema-violation, with the place in the file; those of
// reading it.
[[nodiscard]] Result<std::vector<PolicyCase>> read_cases(const std::string& file,
                                                         const PolicyCase& base);

[[nodiscard]] CaseResult judge_case(const PolicyCase& one,
                                    std::span<const policy::ActivePolicy> policies);

// Returns the file with the tests of a policy: "prod.tests.json" beside "prod.json" and beside
// "prod.signed.json". Returns nullopt when there is none.
[[nodiscard]] std::optional<std::string> suite_beside(const std::string& policy_file);

// Returns the reference sets in files, signed or not, by name; for a policy that is evaluated here.
// Verifies no signature. Errors: payload-type-unknown when a file holds another document; usage
// when two files have one set.
[[nodiscard]] Result<policy::ReferenceSets> load_sets(const std::vector<std::string>& paths);

}  // namespace assay::cli
