// SPDX-License-Identifier: Apache-2.0
// evaluate(policies, workload, models, point, now) -> verdict. Pure: no I/O, no clock, no crypto.
// Three-valued: error never counts as pass, `not` of an error is an error, no matching policy is a
// deny. For people: docs/policies.md.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "policy/facts.h"
#include "schemas/decision.h"
#include "schemas/policy_document.h"

namespace assay::policy {

// Member of `actual` of a report condition: the locations that the node has to verify again before
// it can hold. Whoever decides may order that.
inline constexpr std::string_view kToVerify = "to_verify";

// A policy in force, with the id of the signed envelope it came from.
struct ActivePolicy {
  StatementId id;
  PolicyDocument document;
};

// True when `match` selects the workload at this point: `match.nodes` selects nothing at create,
// and from bind on a workload that should name its node and does not.
[[nodiscard]] bool matches(const WorkloadMatch& match, const Workload& workload,
                           DecisionPoint point = DecisionPoint::kCreate);

// True when at least one policy in mode enforce or warn matches the workload: then it needs a model
// that passes. A policy in mode shadow only watches.
[[nodiscard]] bool selected(std::span<const ActivePolicy> policies, const Workload& workload,
                            DecisionPoint point = DecisionPoint::kCreate);

// True when a policy in mode enforce may match workloads of this namespace, whatever else they are:
// for somebody who knows no more of a workload.
[[nodiscard]] bool may_enforce(std::span<const ActivePolicy> policies,
                               const std::string& name_space);

// The point that can decide `condition`: the latest among its parts.
[[nodiscard]] DecisionPoint point_of(const Condition& condition);

// Judges every condition of every policy that matches about every model, in the order given: one
// result for each policy and model, all of which must pass. Without a model the policies are judged
// about facts that are empty. `preconditions` (the resolution of the model reference, say) are part
// of the verdict. When the workload is selected, there is no model or one without an artifact, and
// all preconditions pass, one that failed with model-reference-missing is added, and one that
// failed with condition-failed when the enforce policies that match leave no node
// (policy/affinity.h).
//
// For a workload that was read from a pod each result ends with what every policy demands: that the
// pod mounts the model at a location that counts ("reference-bound", for each model), and with the
// first model that everything it mounts is accounted for ("volumes") and its images are allowed
// ("images", when the policy has any). See docs/policies.md.
//
// Policies in mode enforce decide: allowed means that all preconditions pass and every condition of
// every matching enforce policy passes or is deferred to a later point. Without a matching enforce
// policy a matching warn policy allows whatever comes out (that is how a policy is rolled out), and
// without either the answer is deny with no-matching-policy. What does not pass in a warn policy is
// a warning of at most 120 bytes, and so is a precondition that does not pass and does not deny;
// policies in mode shadow only give results. A deny always has a reason.
//
// A signature counts when check_grant holds for it at the time it was logged, under one of the
// names that the artifact's trusted manifests carry: manifests with a publisher's signature that
// counts. Without one the name is unknown and only roles for every name ("*") count. A revocation
// withdraws everything a key said, refusals too: a statement whose only signers are revoked is not
// judged. What was logged after `now` is known but not yet valid and makes an error, so read the
// clock after the facts. The same goes for the node: it is judged by workload.node and Facts::node,
// and a condition on it that finds nothing fails, or is an error below a `not`.
[[nodiscard]] Verdict evaluate(std::span<const ActivePolicy> policies, const Workload& workload,
                               std::span<const Facts> models,
                               std::vector<ConditionResult> preconditions, DecisionPoint point,
                               Timestamp now);

}  // namespace assay::policy
