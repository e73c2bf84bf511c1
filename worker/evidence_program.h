// SPDX-License-Identifier: Apache-2.0
// Runs a program of the operator that gives evidence of this machine.
#pragma once

#include <string>
#include <vector>

#include "schemas/core/json.h"

namespace assay::worker {

// Names of the members that a program may write.
struct ProgramMembers {
  std::vector<std::string> texts;    // their values are strings
  std::vector<std::string> objects;  // their values are objects
};

// Runs the program at `path` with `arguments`, and returns the JSON object that it writes to its
// standard output, with no members but `members`. The program has 30 seconds. Errors:
// evidence-unavailable.
[[nodiscard]] Result<Json> run_evidence_program(const std::string& path,
                                                const std::vector<std::string>& arguments,
                                                const ProgramMembers& members);

// Returns the error of a program that did not give evidence: `why` continues "The program that
// gives evidence".
[[nodiscard]] std::unexpected<Error> no_evidence(const std::string& why);

}  // namespace assay::worker
