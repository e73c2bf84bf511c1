// SPDX-License-Identifier: Apache-2.0
// Facts about stage evidence (policy/stage_evidence_fact.h), read from stored rows.
#pragma once

#include <vector>

#include "policy/stage_evidence_fact.h"
#include "storage/store.h"

namespace assay::server {

// Returns the evidence for a statement as it stands under the trust store of `snapshot`.
[[nodiscard]] Result<std::vector<policy::StageEvidenceFact>> stage_evidence_facts(
    storage::Snapshot& snapshot, const StatementId& statement);

}  // namespace assay::server
