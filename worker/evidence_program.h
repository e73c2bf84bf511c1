// SPDX-License-Identifier: Apache-2.0
// Runs a program of the operator that gives evidence of this machine.
#pragma once

#include <string>
#include <vector>

#include "schemas/core/json.h"

namespace assay::worker {

// Runs the program at `path` with `arguments`, and returns the JSON object that it writes to its
// standard output. Its member "collateral" is an object, if there is one; all others are strings
// whose names `texts` lists. The program has 30 seconds. Errors: evidence-unavailable.
[[nodiscard]] Result<Json> run_evidence_program(const std::string& path,
                                                const std::vector<std::string>& arguments,
                                                const std::vector<std::string>& texts);

// Returns the error of a program that did not give evidence: `why` continues "The program that
// gives evidence".
[[nodiscard]] std::unexpected<Error> no_evidence(const std::string& why);

}  // namespace assay::worker
