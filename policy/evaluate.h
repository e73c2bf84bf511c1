// SPDX-License-Identifier: Apache-2.0
// evaluate(policies, facts, point, now) -> verdict. Pure: no I/O, no clock, no crypto.
// Three-valued: error never counts as pass, `not` of an error is an error, no matching policy is a
// deny.
#pragma once

#include <span>
#include <vector>

#include "policy/facts.h"
#include "schemas/decision.h"
#include "schemas/policy_document.h"

namespace assay::policy {

// A policy in force, with the id of the signed envelope it came from.
struct ActivePolicy {
  StatementId id;
  PolicyDocument document;
};

// True when `match` selects the workload.
[[nodiscard]] bool matches(const WorkloadMatch& match, const Workload& workload);

// True when at least one policy selects the workload: then it needs a model that passes.
[[nodiscard]] bool selected(std::span<const ActivePolicy> policies, const Workload& workload);

// The point that can decide `condition`: the latest among its parts.
[[nodiscard]] DecisionPoint point_of(const Condition& condition);

// Judges every condition of every policy that matches, in the order given. `preconditions` (the
// resolution of the model reference, say) are part of the verdict: one that does not pass denies.
// Allowed means: all preconditions pass, at least one policy matches, and every condition of every
// matching policy in mode enforce passes or is deferred to a later point. Policies in mode warn
// give warnings, in mode shadow only results. A deny always has a reason.
[[nodiscard]] Verdict evaluate(std::span<const ActivePolicy> policies, const Workload& workload,
                               const Facts& facts, std::vector<ConditionResult> preconditions,
                               DecisionPoint point, Timestamp now);

}  // namespace assay::policy
