// SPDX-License-Identifier: Apache-2.0
// What the API server is told: AdmissionReview answers with messages for people and audit
// annotations for machines.
#pragma once

#include <string>
#include <vector>

#include "server/service/decisions/decide.h"
#include "server/service/kubernetes/admission.h"
#include "server/service/kubernetes/review.h"

namespace assay::server {

// Allowed without a decision: `verdict` says why ("not-applicable", "unchanged", "recorded").
// `patch` as RFC 6902 operations; none when it is empty.
[[nodiscard]] ReviewAnswer allow_unjudged(const Review& review, std::string_view verdict,
                                          const Json& patch = Json::array(),
                                          const std::vector<std::string>& warnings = {});

// What was decided: allowed, with `patch` and warnings, or denied with a line for every condition
// that does not pass (condition_words.h) and the command that shows the decision.
[[nodiscard]] ReviewAnswer answer_decision(const Review& review, const DecisionAnswer& decided,
                                           const Json& patch = Json::array());

// Always allowed: warnings say what pods of the template would be denied for.
[[nodiscard]] ReviewAnswer answer_advice(const Review& review, const Decision& decision);

// Denied without a decision.
[[nodiscard]] ReviewAnswer refuse(const Review& review, Reason reason, const std::string& detail);
// Denied since nothing could be decided; the detail holds nothing internal.
[[nodiscard]] ReviewAnswer refuse_undecided(const Review& review, const Error& error);

}  // namespace assay::server
