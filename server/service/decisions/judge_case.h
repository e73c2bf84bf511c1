// SPDX-License-Identifier: Apache-2.0
// The steps from a question to a verdict that do not write anything: collects the facts of a case
// from the store, and evaluates policies over a case. Used for decisions, for replays, and for
// questions of the kind "what would be decided if" (server/service/impact).
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "policy/reference_sets.h"
#include "server/service/decisions/case_file.h"
#include "server/service/decisions/decide.h"

namespace assay::server {

// Returns reference sets that are stored, whether or not they are in force. Errors: not-found when
// there is no such statement; data-loss when one cannot be read, or two have one name.
[[nodiscard]] Result<policy::ReferenceSets> stored_sets(storage::Snapshot& snapshot,
                                                        const std::vector<StatementId>& ids);

// Returns policies that are stored, whether or not they are in force, with the values of the
// reference sets `sets`, which are stored too. Errors: not-found when there is no such statement;
// those of stored_sets() and parse_policy().
[[nodiscard]] Result<Policies> stored_policies(storage::Snapshot& snapshot,
                                               const std::vector<StatementId>& policies,
                                               const std::vector<StatementId>& sets);

// Collects the case of `request` from one snapshot: all facts about the models of `resolved` and
// about the node, under `policies`. Errors: those of the store; data-loss.
[[nodiscard]] Result<CaseFile> open_case(Services& services, storage::Snapshot& snapshot,
                                         const DecisionRequest& request,
                                         const ResolvedReference& resolved,
                                         std::span<const policy::ActivePolicy> policies,
                                         Timestamp now);

// Evaluates `policies` over a case at `now`. `cache` holds outcomes of predicate tests; may be
// null. `check`, unless it is empty, is called again and again while lineages are judged; its error
// ends the evaluation. Errors: those of `check`; data-loss and storage, when a stored predicate
// cannot be read.
[[nodiscard]] Result<Verdict> evaluate_case(storage::Snapshot& snapshot, const CaseFile& file,
                                            std::span<const policy::ActivePolicy> policies,
                                            Timestamp now, DecisionCache* cache,
                                            const std::function<Status()>& check = {});

}  // namespace assay::server
