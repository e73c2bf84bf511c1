// SPDX-License-Identifier: Apache-2.0
// The steps from a question to a verdict that do not write anything: collects the facts of a case
// from the store, and evaluates policies over a case. Used for decisions, for replays, and for
// questions of the kind "what would be decided if" (server/service/impact).
#pragma once

#include <span>

#include "server/service/decisions/case_file.h"
#include "server/service/decisions/decide.h"

namespace assay::server {

// Returns a policy that is stored, whether or not it is in force. Errors: not-found when there is
// no such statement; those of parse_policy().
[[nodiscard]] Result<policy::ActivePolicy> stored_policy(storage::Snapshot& snapshot,
                                                         const StatementId& id);

// Collects the case of `request` from one snapshot: all facts about the models of `resolved` and
// about the node, under `policies`. Errors: those of the store; data-loss.
[[nodiscard]] Result<CaseFile> open_case(Services& services, storage::Snapshot& snapshot,
                                         const DecisionRequest& request,
                                         const ResolvedReference& resolved,
                                         std::span<const policy::ActivePolicy> policies,
                                         Timestamp now);

// Evaluates `policies` over a case at `now`. `cache` holds outcomes of predicate tests; may be
// null. Errors: data-loss and storage, when a stored predicate cannot be read.
[[nodiscard]] Result<Verdict> evaluate_case(storage::Snapshot& snapshot, const CaseFile& file,
                                            std::span<const policy::ActivePolicy> policies,
                                            Timestamp now, DecisionCache* cache);

}  // namespace assay::server
