// SPDX-License-Identifier: Apache-2.0
// Judges the lineage condition, and says what its author should know. Implemented in
// policy/lineage. Internal to policy.
#pragma once

#include <string>
#include <vector>

#include "policy/conditions.h"
#include "policy/lineage.h"
#include "policy/lint.h"

namespace assay::policy {

// Judges `condition` on the lineage that the policy believes (policy/lineage/walk.h). Fails:
// - ancestor-denied: a node is on the deny list. Names count whoever gave them, digests when a
//   counted statement or manifest gave them, keys
//   and identities when they signed a manifest or a making statement of a node, counted or not;
// - licence-not-allowed: the licence of a counted making statement leaves no choice that `licences`
//   accepts;
// - signers-insufficient: counted statements that an edge rule is about name an edge, one thing
//   that went into a node, and too few of the rule's identities signed those that name it;
// - stage-missing: on no path from an ancestor to the artifact do the stages occur in this order,
//   each at a counted statement; statements that make nothing come after the one that made the
//   node;
// - lineage-too-deep: a path has more than max_depth edges.
// Is undecided, and never passes:
// - ancestor-unknown: there is no lineage; or a node has no followed input, is not collected by a
//   counted statement, and fits no leaf pattern; or an input has no strong digest and fits none, or
//   no digest at all; or what went into a node could not be read; or nobody can say whether a name
//   is on the deny list (schemas/name_form.h; a name that is not plain ASCII);
// - lineage-cycle: a node was made from itself;
// - lineage-incomplete: the search ended at a limit, on a path that counts;
// - ancestor-denied, only now an error: nothing of the above is on the deny list, but something of
//   the lineage as it was before statements were withdrawn is;
// - licence-unknown: a leaf has no licence that can be read, or another node has one that cannot;
// - condition-undecided: a signature that would count was logged after the time of the evaluation.
// An input is known when each of its strong digests leads to a known node: otherwise a second
// digest could lead to something that nobody knows. An input without strong digests is known when a
// leaf pattern fits its name or one of its digests.
//
// A result depends on nothing but the condition, the lineage, the believed names, the policy's
// manifest conditions and the time, and
// on the time only as note_changes() says. So a caller may keep it (policy/lineage_results.h), and
// nothing in it says how old something is.
[[nodiscard]] ConditionResult judge(const LineageCondition& condition, const Scope& scope);

// Notes when the result of judging `condition` on `lineage` may change as time passes: at every
// signature in the lineage and every revocation of a key, whichever of them the condition follows,
// and when evidence grows too old for an edge rule.
void note_changes(const LineageCondition& condition, const Lineage& lineage, Horizon& horizon);

// True when the policy passes for no model of which nobody says that it was made from something: a
// lineage or statement condition that must pass asks for a stage that makes things.
[[nodiscard]] bool asks_for_step(const std::vector<Condition>& require, int depth);
// Returns the stage of the first edge rule about a stage that makes things; "train" for a rule
// about a role alone. The rules do not ask that this stage happened.
[[nodiscard]] std::optional<std::string> step_of_edges(const LineageCondition& condition);

// Returns what is wrong or odd about a condition: errors about parts that contradict each other and
// rules that cannot pass or are about nothing, warnings about patterns that accept every leaf and
// the like. Finding::condition is empty, Finding::where is relative to the condition. `negated`:
// the condition stands below a `not`.
[[nodiscard]] std::vector<Finding> lint_lineage(const LineageCondition& condition, bool negated);

}  // namespace assay::policy
