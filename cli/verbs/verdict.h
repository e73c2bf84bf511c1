// SPDX-License-Identifier: Apache-2.0
// Verdicts and decisions for people: every condition with its expected and its actual value.
#pragma once

#include <string>

#include "cli/context.h"
#include "schemas/core/json.h"

namespace assay::cli {

// Prints a verdict ({"allowed","reasons","warnings","preconditions","policies"}) to stdout.
void print_verdict(const Context& context, const Json& verdict);

// Returns "allow", or "deny: code, code".
[[nodiscard]] std::string verdict_headline(const Json& verdict);

[[nodiscard]] bool is_allowed(const Json& verdict);

}  // namespace assay::cli
