// SPDX-License-Identifier: Apache-2.0
#include "server/service/facts/stage_evidence_facts.h"

#include "server/service/nodes/reappraise.h"
#include "server/service/nodes/stage_evidence.h"

namespace assay::server {

Result<std::vector<policy::StageEvidenceFact>> stage_evidence_facts(storage::Snapshot& snapshot,
                                                                    const StatementId& statement) {
  std::vector<policy::StageEvidenceFact> facts;
  ASSAY_ASSIGN(auto rows, snapshot.stage_evidence(statement));
  for (storage::EvidenceRow& stored : rows) {
    ASSAY_ASSIGN(const Standing standing, standing_of(snapshot, std::move(stored)));
    const storage::EvidenceRow& row = standing.row;
    ASSAY_ASSIGN(StageRow stage, stage_row(row));
    facts.push_back({.key = std::move(stage.key),
                     .type = row.type,
                     .accepted_at = row.appraised_at,
                     .made_after = stage.made_after,
                     .anchor = row.anchor,
                     .anchor_is_vendor = row.anchor_is_vendor,
                     .status_then = std::move(stage.status_then),
                     .error_then = std::move(stage.error_then),
                     .status_now = row.tcb_status,
                     .error_now = row.error,
                     .current = standing.current,
                     .has_reference_values = stage.has_reference_values,
                     .measurements = std::move(stage.measurements),
                     .appraisal = row.appraisal,
                     .appraisal_policy = row.policy,
                     .matched = matched_of(row),
                     .boot = row.boot,
                     .valid_until = row.valid_until});
  }
  return facts;
}

}  // namespace assay::server
