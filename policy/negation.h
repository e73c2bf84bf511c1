// SPDX-License-Identifier: Apache-2.0
// Judges a condition below a `not`. Internal to policy.
//
// `not` inverts a fail only when the thing was checked and found wrong: another value, other
// parameters, other bytes, another TCB status. A fail because something is missing, expired,
// revoked, stale or signed by too few does not prove the contrary. Such a fail becomes an error.
#pragma once

#include "policy/conditions.h"

namespace assay::policy {

// Changes a fail in `result` to an error unless the fail may be inverted. `condition` has no parts
// and was judged with `scope`. Replaces a code that does not give the reason by one that does. Does
// not change outcomes other than fail.
void judge_below_not(const Condition& condition, const Scope& scope, ConditionResult& result);

}  // namespace assay::policy
