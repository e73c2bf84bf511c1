// SPDX-License-Identifier: Apache-2.0
// The index row of a signed document, from what the document says. Accepting it and making a lost
// row again (rebuild.h) write the same row, because both are written here.
#pragma once

#include <string>

#include "attestation/dsse.h"
#include "policy/facts.h"
#include "schemas/manifest.h"
#include "schemas/placement.h"
#include "schemas/policy_document.h"
#include "schemas/statement.h"
#include "storage/store.h"

namespace assay::server {

// Each without signers, envelopes, log index and time: those come from the log. The second and
// later arguments are what the envelope's payload was parsed to.
[[nodiscard]] storage::StatementRow policy_row(const attestation::Envelope& envelope,
                                               const PolicyDocument& policy);
// The artifact's own root is the first subject, before other digests of the model.
[[nodiscard]] Result<storage::StatementRow> manifest_row(const attestation::Envelope& envelope,
                                                         const Statement& statement,
                                                         const Manifest& manifest);
[[nodiscard]] storage::StatementRow placement_row(const attestation::Envelope& envelope,
                                                  const Statement& statement,
                                                  const Placement& placement);
// `stage` as stage_of() says.
[[nodiscard]] storage::StatementRow attestation_row(const attestation::Envelope& envelope,
                                                    const Statement& statement, std::string stage);

// Stage of a lifecycle statement (checked against its schema); empty for a foreign predicate.
[[nodiscard]] Result<std::string> stage_of(const Statement& statement);

// The row as evaluation reads it, without its predicate. `key_of` gives the trusted key of an id,
// or the error that the caller answers.
template <typename KeyOf>
[[nodiscard]] Result<policy::StatementFact> statement_fact(const storage::StatementRow& row,
                                                           const KeyOf& key_of) {
  policy::StatementFact fact{.id = row.id,
                             .predicate_type = row.predicate_type,
                             .stage = row.stage,
                             .predicate = nullptr,
                             .signers = {},
                             .accepted_at = row.accepted_at,
                             .log_index = row.log_index};
  for (const storage::SignerRow& signer : row.signers) {
    ASSAY_ASSIGN(TrustedKey key, key_of(signer.key));
    fact.signers.push_back({std::move(key), signer.signed_at});
  }
  return fact;
}

}  // namespace assay::server
