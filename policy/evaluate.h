// SPDX-License-Identifier: Apache-2.0
// Evaluates policies: evaluate(policies, workload, models, point, now) -> verdict. Pure: no I/O, no
// clock, no cryptography. Outcomes are three-valued: an error never counts as a pass, and `not` of
// an error is an error. A workload that no policy matches is denied. For people: docs/policies.md.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "policy/facts.h"
#include "schemas/decision.h"
#include "schemas/policy_document.h"

namespace assay::policy {

// Member of `actual` of a report condition: locations that the node must verify again before the
// condition can pass. The caller may create jobs for these locations.
inline constexpr std::string_view kToVerify = "to_verify";

// A policy in force, with the id of the signed envelope it came from.
struct ActivePolicy {
  StatementId id;
  PolicyDocument document;
};

// Returns true when `match` selects the workload at `point`. When the
// workload names no node, a match with `nodes` returns false at create and, from bind on, does not
// restrict the workload.
[[nodiscard]] bool matches(const WorkloadMatch& match, const Workload& workload,
                           DecisionPoint point = DecisionPoint::kCreate);

// Returns true when at least one policy in mode enforce or warn matches the workload. A selected
// workload needs a model that passes. Policies in mode shadow only watch.
[[nodiscard]] bool selected(std::span<const ActivePolicy> policies, const Workload& workload,
                            DecisionPoint point = DecisionPoint::kCreate);

// Returns true when a policy in mode enforce may match workloads of this namespace, whatever else
// the workloads have. Meant for callers that know only the namespace of a workload.
[[nodiscard]] bool may_enforce(std::span<const ActivePolicy> policies,
                               const std::string& name_space);

// Returns the point that can decide `condition`: the latest point of its parts.
[[nodiscard]] DecisionPoint point_of(const Condition& condition);

// Judges every condition of every matching policy about every model, in the order given. Gives one
// result for each policy and model; all results must pass. Without a model, the policies are judged
// about empty facts.
//
// `preconditions` (for example, how the model reference was resolved) become part of the verdict. A
// failed precondition with the code model-reference-missing is added when a selected workload has
// no model, or a model without an artifact, and all preconditions pass. A failed precondition with
// the code condition-failed is added when the matching enforce policies leave no node
// (policy/affinity.h).
//
// For a workload that was read from a pod, each result ends with what every policy demands.
// "reference-bound" (for each model): the pod mounts the model at a location that counts. "volumes"
// (with the first model): everything that the pod mounts is accounted for. "images" (with the first
// model, when the policy has image patterns): the images are allowed. See docs/policies.md.
//
// Policies in mode enforce decide. A workload is allowed when all preconditions pass and every
// condition of every matching enforce policy passes or is deferred to a later point. When only warn
// policies match, the workload is allowed whatever the results are; this is how a policy is rolled
// out. When neither kind matches, the workload is denied with no-matching-policy. A condition that
// fails or is an error in a warn policy gives a warning of at most 120 bytes. A precondition that
// does not pass and does not deny also gives such a warning. Policies in mode shadow only give
// results. A deny always has a reason.
//
// A signature counts when check_grant passes for the time at which the signature was logged, under
// one of the artifact's trusted names. A trusted name is the name in a manifest with a publisher's
// signature that counts. Without a trusted name, only roles for every name ("*") count. A
// revocation withdraws everything that a key signed, refusals too: a statement whose only signers
// are revoked is not judged.
//
// A signature that was logged after `now` makes an error, so read the clock after the facts. The
// same holds for facts about the node that are later than `now`. The node is judged by
// workload.node and Facts::node. A condition on the node that finds no facts fails, or is an error
// below a `not`.
[[nodiscard]] Verdict evaluate(std::span<const ActivePolicy> policies, const Workload& workload,
                               std::span<const Facts> models,
                               std::vector<ConditionResult> preconditions, DecisionPoint point,
                               Timestamp now);

}  // namespace assay::policy
