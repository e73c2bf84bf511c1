// SPDX-License-Identifier: Apache-2.0
// Stored evidence (what a node's hardware signed about the node) and its later appraisals. Evidence
// is stored unchanged. When the appraisal policy, its root certificates or the collateral
// (certificates and revocation lists for evidence) change, stored evidence is stale until it has
// been appraised again. A new appraisal does not change the age of the evidence. What an appraisal
// rests on ends some day: then the evidence does not count, until it was appraised under collateral
// that lasts longer.
#pragma once

#include <chrono>
#include <optional>

#include "schemas/evidence.h"
#include "server/service/services.h"

namespace assay::server {

// Ids of stored evidence. Collateral is a document of its own, because many pieces of evidence
// share it. The evidence document is {"type","quote","collateral":DOCUMENT ID or null}.
struct StoredEvidence {
  DocumentId evidence;
  std::optional<DocumentId> collateral;
};
// Stores evidence unchanged.
[[nodiscard]] Result<StoredEvidence> store_evidence(storage::Transaction& transaction,
                                                    const Evidence& evidence);
// Loads evidence that store_evidence() stored.
[[nodiscard]] Result<Evidence> load_evidence(storage::Snapshot& snapshot, const DocumentId& id);

// Returns the appraisal policy in force for an evidence type: that of the trust store, or else the
// default. With a `stage`, that for evidence of statements about this stage, or else that for the
// stage "*"; never that for nodes, because stages run other software.
[[nodiscard]] Result<Appraisal> appraisal_in_force(storage::NodeReads& reads,
                                                   const std::string& evidence_type,
                                                   const std::string& stage = {});
// Returns the SHA-256 of the canonical form of what appraisal_in_force() returns.
[[nodiscard]] Result<DocumentId> appraisal_id_in_force(storage::NodeReads& reads,
                                                       const std::string& evidence_type,
                                                       const std::string& stage = {});

// The present state of evidence.
struct Standing {
  storage::EvidenceRow row;
  bool current;  // appraised under the policy in force, with the newest collateral
};
// Returns the state of the evidence of `subject` (EvidenceRow::subject in storage/node_store.h).
// Returns nullopt when the subject has no evidence.
[[nodiscard]] Result<std::optional<Standing>> standing(storage::NodeReads& reads,
                                                       const std::string& subject);

// Returns the state of evidence that was read already.
[[nodiscard]] Result<Standing> standing_of(storage::NodeReads& reads, storage::EvidenceRow row);

// How long before the end of what evidence rests on, and how often after it, the service looks for
// collateral that lasts longer.
inline constexpr std::chrono::minutes kLookAgain{10};
// Sets `valid_until` and `look_at` of evidence that a report or a statement depends on. An
// enrolment ends with its evidence: nobody looks again for it. Results of other verifiers have
// neither.
void note_end(storage::EvidenceRow& row, std::optional<Timestamp> valid_until, Timestamp now);

// Appraises at most `limit` pieces of stale evidence again, with the newest collateral that the
// service has seen. Stores and logs each result. Does not change the time at which the evidence was
// fresh. An enrolment ends sooner when its evidence is valid for a shorter time now. Returns how
// many pieces of stale evidence this call handled; 0 when no evidence was stale. Errors: the first
// of a piece that stays stale, after all others were handled; those of the store.
[[nodiscard]] Result<std::size_t> reappraise(Services& services, std::size_t limit);

}  // namespace assay::server
