// SPDX-License-Identifier: Apache-2.0
// Stored objects as JSON for responses.
#pragma once

#include <vector>

#include "schemas/core/json.h"
#include "storage/store.h"

namespace assay::server {

// Returns "manifest", "attestation" or "policy".
[[nodiscard]] std::string_view name(storage::StatementKind kind);

// Returns the StatementView of schemas/openapi.yaml. Identities of signers come from the trust
// store.
[[nodiscard]] Result<Json> statement_view(storage::Snapshot& snapshot,
                                          const storage::StatementRow& row);
[[nodiscard]] Result<Json> statement_views(storage::Snapshot& snapshot,
                                           const std::vector<storage::StatementRow>& rows);
[[nodiscard]] Json decision_view(const storage::DecisionRow& row);
[[nodiscard]] Json event_view(const storage::EventRow& row);
[[nodiscard]] Json epochs_view(const storage::Epochs& epochs);
[[nodiscard]] Json hex_list(const std::vector<Digest>& digests);

}  // namespace assay::server
