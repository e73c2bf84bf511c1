// SPDX-License-Identifier: Apache-2.0
// Judges demands on stage evidence (schemas/evidence_demands.h). Internal to policy.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "policy/conditions/relations.h"
#include "policy/evaluate.h"
#include "policy/signers.h"

namespace assay::policy {

// How stage evidence stands to demands on it.
struct JudgedEvidence {
  Outcome outcome;
  Reason code;  // of the first demand that does not hold; meaningless for pass
  // The evidence that decided, and the codes of its demands that do not hold; null when there is
  // no evidence.
  Json actual;
};

// Judges the evidence by those listed and considered signers of `statement` whose signatures count.
// The caller must pass a condition with demands on evidence. The best evidence decides: one piece
// that meets every demand is enough. A signature that may count makes the outcome at best an error.
// No evidence: a fail with stage-evidence-missing. Evidence of somebody whom a relation excludes
// counts as little as the signature: the machine of the publisher says nothing for the approver.
[[nodiscard]] JudgedEvidence judge_evidence(const StatementCondition& condition,
                                            const JudgedStatement& statement, Timestamp now,
                                            const Excluded& excluded = {});

// Returns what the signature of a person comes to for demands, of which `state` was judged.
using SignerCounts = std::function<SignerState(const std::string& identity, SignerState state)>;
// The same for `demands`, on the evidence by those signers of whom `counts` says that they count.
[[nodiscard]] JudgedEvidence judge_evidence(const EvidenceDemands& demands,
                                            const SignerCounts& counts,
                                            const JudgedStatement& statement, Timestamp now);

// Returns warnings about the demands of a policy; none without demands.
[[nodiscard]] std::vector<std::string> lint_evidence(const std::optional<EvidenceDemands>& demands);

}  // namespace assay::policy
