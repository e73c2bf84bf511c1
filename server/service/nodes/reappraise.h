// SPDX-License-Identifier: Apache-2.0
// Evidence after its day: kept exactly, and appraised again when the appraisal policy, its anchors
// or the collateral move on. Until then it counts as stale. Nothing here makes evidence younger.
#pragma once

#include <optional>

#include "schemas/evidence.h"
#include "server/service/services.h"

namespace assay::server {

// Stores evidence exactly. Its collateral, which many share, is a document of its own:
// {"type","quote","collateral":DOCUMENT ID or null}.
struct StoredEvidence {
  DocumentId evidence;
  std::optional<DocumentId> collateral;
};
[[nodiscard]] Result<StoredEvidence> store_evidence(storage::Transaction& transaction,
                                                    const Evidence& evidence);
[[nodiscard]] Result<Evidence> load_evidence(storage::Snapshot& snapshot, const DocumentId& id);

// The appraisal of a type in force: what the trust store says, or else its default.
[[nodiscard]] Result<Appraisal> appraisal_in_force(storage::NodeReads& reads,
                                                   const std::string& evidence_type);
// SHA-256 of its canonical form.
[[nodiscard]] Result<DocumentId> appraisal_id_in_force(storage::NodeReads& reads,
                                                       const std::string& evidence_type);

// How evidence stands now; nothing when there is none.
struct Standing {
  storage::EvidenceRow row;
  bool current;  // it was appraised under the appraisal in force, with the newest collateral
};
[[nodiscard]] Result<std::optional<Standing>> standing(storage::NodeReads& reads,
                                                       const std::string& subject);

// Appraises at most `limit` pieces of stale evidence again, with the newest collateral that was
// seen. Each result is stored and logged; when the evidence was fresh stays as it was. Returns how
// many were looked at: 0 when none was stale.
[[nodiscard]] Result<std::size_t> reappraise(Services& services, std::size_t limit);

}  // namespace assay::server
