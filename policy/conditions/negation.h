// SPDX-License-Identifier: Apache-2.0
// Judges a condition below a `not`. Internal to policy.
//
// `not` turns a fail into a pass only when something was checked and found to be different: a
// value, the parameters, the bytes or the TCB status. A fail because something is missing, expired,
// revoked, stale or signed by too few does not prove the contrary. Such a fail becomes an error.
#pragma once

#include "policy/conditions.h"

namespace assay::policy {

// Changes a fail in `result` to an error unless the fail may be inverted. The caller must pass a
// `condition` without parts, and the `result` of judging it with `scope`. Also sets the code of
// `result` to the reason why the fail may or may not be inverted. Does not change outcomes other
// than fail.
void judge_below_not(const Condition& condition, const Scope& scope, ConditionResult& result);

}  // namespace assay::policy
