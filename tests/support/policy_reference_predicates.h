// SPDX-License-Identifier: Apache-2.0
// The second implementation of tests of predicates: slow, and with none of the code of policy.
#pragma once

#include "tests/support/policy_reference_case.h"

namespace assay::policy::reference {

// What one test comes to at `now`.
[[nodiscard]] Tested judge_test(const PredicateTest& test, const Json& document, Timestamp now);

}  // namespace assay::policy::reference
