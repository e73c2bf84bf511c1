// SPDX-License-Identifier: Apache-2.0
// Which stored decisions would be answered otherwise under a hypothesis, and why.
#pragma once

#include <optional>

#include "schemas/impact_request.h"
#include "server/service/services.h"

namespace assay::server {

// Limit on the decisions that one call looks at.
inline constexpr std::size_t kMaxDecisionsExamined = 10'000;
// How long one call may take. What is left is for the next call.
inline constexpr std::chrono::seconds kImpactTime{5};

// Looks at stored decisions in the order of the log, from request.after on, at most
// kMaxDecisionsExamined and for at most kImpactTime or until `deadline`. Each is judged again with
// its own stored facts at its own time, under the policies of that time changed by the hypothesis,
// and compared with the answer that was given. A decision whose case is of another format, or lacks
// what the answer rests on (case_gaps.h), counts as undecided.
//
// Returns what Tally::to_json() does (tally.h), with "cases" (evaluations made), and "next" when
// decisions are left. Errors: overloaded while another question about impact runs;
// invalid-parameter for an `after` that no answer gave; those of the store.
[[nodiscard]] Result<Json> decision_impact(Services& services, const ImpactRequest& request,
                                           std::optional<Timestamp> deadline);

}  // namespace assay::server
