// SPDX-License-Identifier: Apache-2.0
// What the statements that a condition is about come to, before relations between signers are
// looked at. Internal to policy.
#pragma once

#include "policy/conditions.h"

namespace assay::policy {

// Counts the signatures on the statements that are considered and pass their tests, without the
// relations of `condition`. With the quantifier latest, only those on the last statement. Borrows
// from the facts and from `condition`.
[[nodiscard]] Tally tally_of(const StatementCondition& condition, const Scope& scope);

}  // namespace assay::policy
