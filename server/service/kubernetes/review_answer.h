// SPDX-License-Identifier: Apache-2.0
// AdmissionReview answers to the API server, with messages for people and audit annotations for
// machines.
#pragma once

#include <string>
#include <vector>

#include "server/service/decisions/decide.h"
#include "server/service/kubernetes/admission.h"
#include "server/service/kubernetes/review.h"

namespace assay::server {

// Returns an answer that allows the review without a decision. `verdict` says why
// ("not-applicable", "unchanged", "recorded"). `patch` is a list of RFC 6902 operations; when it is
// empty, the answer has no patch.
[[nodiscard]] ReviewAnswer allow_unjudged(const Review& review, std::string_view verdict,
                                          const Json& patch = Json::array(),
                                          const std::vector<std::string>& warnings = {});

// Returns the answer for a decision. If the decision allows the workload, the answer contains
// `patch` and the warnings. If the decision denies the workload, the answer contains a line for
// every condition that does not pass (condition_words.h) and the command that shows the decision.
[[nodiscard]] ReviewAnswer answer_decision(const Review& review, const DecisionAnswer& decided,
                                           const Json& patch = Json::array());

// Returns an answer that allows a template (an object that makes pods). Warnings say why pods of
// the template would be denied.
[[nodiscard]] ReviewAnswer answer_advice(const Review& review, const Decision& decision);

// Returns an answer that denies the review for `reason`, without a decision.
[[nodiscard]] ReviewAnswer refuse(const Review& review, Reason reason, const std::string& detail);
// Returns an answer that denies the review because `error` prevented a decision. The answer
// contains no internal details of `error`.
[[nodiscard]] ReviewAnswer refuse_undecided(const Review& review, const Error& error);

}  // namespace assay::server
