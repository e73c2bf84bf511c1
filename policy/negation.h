// SPDX-License-Identifier: Apache-2.0
// What a condition comes to below a `not`. Inside of policy.
//
// `not` turns round only what was judged and found wrong in the thing itself: another value, other
// parameters, other bytes, another TCB status. That something is missing, expired, revoked, stale
// or said by too few does not show the contrary: it is an error.
#pragma once

#include "policy/conditions.h"

namespace assay::policy {

// Makes a fail of `condition` (one without parts), judged with `scope`, an error unless it can be
// turned round. A code that did not say why becomes the one that does. Other outcomes stay.
void judge_below_not(const Condition& condition, const Scope& scope, ConditionResult& result);

}  // namespace assay::policy
