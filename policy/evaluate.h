// SPDX-License-Identifier: Apache-2.0
// Evaluates policies over facts (policy/facts.h): evaluate(policies, workload, models, point, now)
// -> verdict. Pure: no I/O, no clock, no cryptography. Outcomes are three-valued: an error never
// counts as a pass, and `not` of an error is an error. A workload that no policy matches is denied.
// docs/policies.md explains policies for those who write them.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "policy/facts.h"
#include "schemas/decision.h"
#include "schemas/policy_document.h"

namespace assay::policy {

// Advice in the result of the condition reference-bound when it does not pass
// (ConditionResult::expected, member `needs`): the pod should mount the model. Used when no more
// specific advice fits.
inline constexpr std::string_view kNeedsMountedLocation = "a mounted location of the model";

// Name of a member of ConditionResult::actual for report conditions. The member lists the locations
// that the node must verify before the condition can pass. The caller may create jobs for these
// locations.
inline constexpr std::string_view kToVerify = "to_verify";

// A policy in force, with the id of the signed envelope it came from.
struct ActivePolicy {
  StatementId id;
  PolicyDocument document;
  // Of a policy that names reference sets (policy/reference_sets.h): ids of the sets whose values
  // stand in `document`, ascending, and the document as it was signed. Empty and null otherwise.
  std::vector<StatementId> sets{};
  std::shared_ptr<const PolicyDocument> written{};
};

// Returns true when `match` selects the workload at `point`. A match with `nodes` never selects a
// workload without a node at create. From bind on, such a match ignores `nodes` for a workload
// without a node, because the workload may go to any node.
[[nodiscard]] bool matches(const WorkloadMatch& match, const Workload& workload,
                           DecisionPoint point = DecisionPoint::kCreate);

// Returns true when at least one policy in mode enforce or warn matches the workload. A selected
// workload must name a model, and the policies judge that model. A policy in mode shadow selects no
// workload.
[[nodiscard]] bool selected(std::span<const ActivePolicy> policies, const Workload& workload,
                            DecisionPoint point = DecisionPoint::kCreate);

// Returns true when a policy in mode enforce may match some workload of this namespace. Meant for
// callers that know only the namespace of a workload.
[[nodiscard]] bool may_enforce(std::span<const ActivePolicy> policies,
                               const std::string& name_space);

// Returns the first decision point that can decide `condition`. For a combined condition, this is
// the latest point among its parts.
[[nodiscard]] DecisionPoint point_of(const Condition& condition);

// Judges every model by every condition of every matching policy, in the order given. The verdict
// has one result for each pair of policy and model. When `models` is empty, the policies are judged
// with empty facts.
//
// `preconditions` (for example, how the model reference was resolved) become part of the verdict.
// When all given preconditions pass but a selected workload has no model, or a model without an
// artifact, evaluate() adds a failed precondition with the code model-reference-missing. When no
// node can have the labels that all matching enforce policies ask for (policy/affinity.h),
// evaluate() adds a failed precondition with the code condition-failed.
//
// For a workload that was read from a pod, each result ends with the conditions that every policy
// has implicitly. "reference-bound" (for each model): the pod mounts the model at a location that
// the policy accepts (policy/locations.h). "volumes" (with the first model): the policy allows
// everything that the pod mounts (policy/volumes/volumes.h). "images" (with the first model, when
// the policy has image patterns): the policy allows all images of the pod. See docs/policies.md.
//
// Policies in mode enforce decide. A workload is allowed when all preconditions pass and, for every
// model, every condition of every matching enforce policy passes or is deferred to a later point.
// When warn policies match but no enforce policy does, the workload is allowed whatever the results
// are. When no enforce policy and no warn policy matches, the workload is denied with
// no-matching-policy. A condition of a warn policy that fails or is an error adds a warning of at
// most 120 bytes to the verdict. A precondition that does not pass denies the workload; when only
// warn policies match, it adds such a warning instead. Policies in mode shadow add only results to
// the verdict. A deny always has at least one reason.
//
// A signature on a manifest counts when check_grant() (schemas/trust.h) passes for the time at
// which the signature was logged, under the name in the manifest. A signature on another statement
// counts for a policy when check_grant() passes under a name that the policy believes, and a role
// of the key covers every name that the statement gives to the artifact. The policy believes the
// name in a manifest of this very root whose own signers meet every manifest condition of the
// policy that is not below a `not`; when the reference has a name, no other name. Without a
// believed name, only roles for every name ("*") are considered. The revocation of a key withdraws
// every statement that only this key signed, even a statement that would make a condition fail. A
// statement is not judged when the keys of all its signers are revoked.
//
// A condition can become an error when a signature was logged after `now`, or when a fact about the
// node is later than `now`. The caller must therefore read the clock after collecting the facts.
// Conditions about the node are judged by workload.node and Facts::node. A condition about the node
// fails when there are no facts about the node; below a `not`, such a condition is an error.
[[nodiscard]] Verdict evaluate(std::span<const ActivePolicy> policies, const Workload& workload,
                               std::span<const Facts> models,
                               std::vector<ConditionResult> preconditions, DecisionPoint point,
                               Timestamp now);

}  // namespace assay::policy
