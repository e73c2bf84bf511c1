// SPDX-License-Identifier: Apache-2.0
// Stage evidence (schemas/stage_evidence.h): accepted, appraised under the appraisal policy of its
// stage, stored. reappraise() appraises it again when policy, anchors or collateral change.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attestation/evidence_verifier.h"
#include "server/service/services.h"

namespace assay::server {

// How often one key may send other evidence for one statement after evidence that was refused.
inline constexpr std::uint64_t kMaxEvidenceAttempts = 16;

// What EvidenceRow::stage holds (storage/evidence_row.h).
struct StageRow {
  StatementId statement;
  KeyId key;
  std::string stage;    // for appraisal_in_force(): of the statement, or "*"
  DocumentId envelope;  // as it was sent
  LeafIndex log_index;
  std::string status_then;  // TCB status at the first appraisal
  std::string error_then;   // code of the first appraisal; empty: accepted
  std::optional<Timestamp> made_after;
  std::map<std::string, std::string> measurements;  // empty until the evidence was accepted
  bool has_reference_values = false;                // in the policy of the newest appraisal
  std::uint64_t attempts = 1;
};
[[nodiscard]] Json to_json(const StageRow& stage);
// Errors: data-loss.
[[nodiscard]] Result<StageRow> stage_row(const storage::EvidenceRow& row);
// Returns EvidenceRow::matched as facts have it.
[[nodiscard]] std::map<std::string, std::vector<std::string>> matched_of(
    const storage::EvidenceRow& row);
// Notes in `stage` what an appraisal shows of accepted evidence; nothing of refused evidence.
void note_shown(const attestation::AppraisedEvidence& evidence, StageRow& stage);

struct AcceptedStageEvidence {
  storage::EvidenceRow row;
  bool created;  // false: these bytes were stored before
  Json receipt;  // log receipt of the record with this index
  LeafIndex log_index;
};
// Accepts stage evidence: a DSSE envelope signed by the key that it names, which must have signed
// the stored statement too. Evidence that the appraisal refuses is stored with its error, and its
// key may send other evidence; accepted evidence stays. Errors: those of verify_envelope() and
// VerifierRegistry::appraise(); not-found for an unknown statement; stage-evidence-mismatch when
// the named key has not signed the envelope or the statement; those of check_grant() for the key;
// conflict when other evidence was accepted before; signer-limit-exceeded beyond
// kMaxEvidenceAttempts; collateral-rollback; unavailable when trust changes meanwhile.
[[nodiscard]] Result<AcceptedStageEvidence> accept_stage_evidence(Services& services,
                                                                  ByteView envelope,
                                                                  const Principal& actor);

// Returns the evidence for a statement as answers of the API show it: an array.
[[nodiscard]] Result<Json> stage_evidence_view(storage::Snapshot& snapshot,
                                               const StatementId& statement);

}  // namespace assay::server
