// SPDX-License-Identifier: Apache-2.0
// Exported decisions: fetched from the service, and checked without it.
#pragma once

#include <string>

#include "cli/audit/verifier_flags.h"
#include "cli/command.h"
#include "cli/context.h"

namespace assay::cli {

// Adds `assay decision export`.
void add_decision_export(const Command& group, Context& context);

// Returns whether the file begins as an exported decision does. A directory, and what cannot be
// read, does not.
[[nodiscard]] bool is_exported_decision(const std::string& path);
// Checks an exported decision and prints what was found. Errors: usage without the log's key; those
// of reading the file.
[[nodiscard]] Result<Exit> verify_decision_file(const Context& context, const std::string& path,
                                                const VerifierFlags& log_key);

}  // namespace assay::cli
