// SPDX-License-Identifier: Apache-2.0
// The files with the tests of a policy, and with what it reads beside the facts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/verbs/policy_cases.h"
#include "policy/reference_sets.h"

namespace assay::cli {

// Reads the cases in a file, as parse_cases() does; of an exported decision its case, with its own
// time and workload. Errors: those of parse_cases(), usage with the
// name of the file; those of reading the file.
[[nodiscard]] Result<std::vector<PolicyCase>> read_cases(const std::string& file,
                                                         const PolicyCase& base);

// Returns the file with the tests of a policy: "prod.tests.json" beside "prod.json" and beside
// "prod.signed.json". Returns nullopt when there is none.
[[nodiscard]] std::optional<std::string> suite_beside(const std::string& policy_file);

// Returns the reference sets in files, signed or not, by name; for a policy that is evaluated here.
// Verifies no signature. Errors: payload-type-unknown when a file holds another document; usage
// when two files have one set.
[[nodiscard]] Result<policy::ReferenceSets> load_sets(const std::vector<std::string>& paths);

}  // namespace assay::cli
