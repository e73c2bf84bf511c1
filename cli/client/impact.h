// SPDX-License-Identifier: Apache-2.0
// Asks the service which answers would be others, page by page, and shows what it said.
#pragma once

#include <string>

#include "cli/client/connect.h"
#include "cli/context.h"
#include "schemas/core/json.h"

namespace assay::cli {

// What is asked about.
enum class ImpactOver : std::uint8_t { kDecisions, kPods };

// Sends `request` (impact-request.schema.json) until all decisions or pods were looked at, and
// returns one answer with the sums of all pages. Items beyond request.limit are left out. Prints
// progress after each page. Errors: those of Api::post(); schema-violation for an answer that is
// none.
[[nodiscard]] Result<Json> ask_impact(const Context& context, Api& api, ImpactOver over,
                                      Json request);

// Returns true when an answer says that something would be denied, or that something could not be
// judged.
[[nodiscard]] bool denies(const Json& answer);

// Prints the answer as text: counts, causes, and the listed items.
void print_impact(const Context& context, ImpactOver over, const Json& answer);

}  // namespace assay::cli
