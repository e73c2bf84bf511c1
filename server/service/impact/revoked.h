// SPDX-License-Identifier: Apache-2.0
// Takes what was revoked or withdrawn back from a case, to see what follows from it.
#pragma once

#include "server/service/decisions/case_file.h"
#include "server/service/impact/answer.h"

namespace assay::server {

// Changes the facts of every model of the case, its lineage included: no key and no node is
// revoked, no statement is withdrawn.
void drop_revocations(CaseFile& file);

// Returns true when `present`, a denial, follows from a revocation or a withdrawal: `without`, the
// answer to the same case after drop_revocations(), allows, or lacks one of its causes.
[[nodiscard]] bool is_by_revocation(const Answer& present, const Answer& without);

}  // namespace assay::server
