// SPDX-License-Identifier: Apache-2.0
// Reference sets among the policies in force. A set has a row of its own there, under the name
// "set:NAME", and comes into force and goes out of force like a policy.
#pragma once

#include <vector>

#include "policy/reference_sets.h"
#include "schemas/policy_document.h"
#include "storage/store.h"

namespace assay::server {

// Returns the sets among the rows of policies in force. Errors: those of parse_reference_set().
[[nodiscard]] Result<policy::ReferenceSets> sets_among(
    const std::vector<storage::ActivePolicyRow>& rows);

// What comes into force or goes out of force: the row, and whether it comes.
struct RowChange {
  const storage::ActivePolicyRow& row;
  bool comes;
};
// Checks that each policy in force has its sets after a change of `rows`, the rows in force: a
// policy that comes finds the sets that it names, a set that goes is named by nobody, and a set
// that comes is of a kind that the policies which name it can use. Errors: conflict, with the set
// or the first such policy as `where`.
[[nodiscard]] Status check_sets(const std::vector<storage::ActivePolicyRow>& rows,
                                const RowChange& change);

}  // namespace assay::server
