// SPDX-License-Identifier: Apache-2.0
// Index rows of signed documents, made from the documents. These functions are used when a document
// is accepted and when a lost row is rebuilt (upkeep/rebuild.h), so the same row is written in both
// cases.
#pragma once

#include <string>

#include "attestation/dsse.h"
#include "policy/facts.h"
#include "schemas/manifest.h"
#include "schemas/placement.h"
#include "schemas/policy_document.h"
#include "schemas/release.h"
#include "schemas/statement.h"
#include "storage/store.h"

namespace assay::server {

// The next six functions return a row without signers, envelopes, log index and time, because
// these members come from the log. The caller must pass, after `envelope`, the parsed payload of
// the envelope.
[[nodiscard]] storage::StatementRow policy_row(const attestation::Envelope& envelope,
                                               const PolicyDocument& policy);
[[nodiscard]] storage::StatementRow reference_set_row(const attestation::Envelope& envelope,
                                                      const ReferenceSet& set);
// The first subject of the row is the artifact's own root; other digests of the model follow.
[[nodiscard]] Result<storage::StatementRow> manifest_row(const attestation::Envelope& envelope,
                                                         const Statement& statement,
                                                         const Manifest& manifest);
[[nodiscard]] storage::StatementRow placement_row(const attestation::Envelope& envelope,
                                                  const Statement& statement,
                                                  const Placement& placement);
[[nodiscard]] Result<storage::StatementRow> release_row(const attestation::Envelope& envelope,
                                                        const Statement& statement,
                                                        const Release& release);
// `stage` is the result of stage_of() below.
[[nodiscard]] Result<storage::StatementRow> attestation_row(const attestation::Envelope& envelope,
                                                            const Statement& statement,
                                                            std::string stage);

// Returns the names that the statement `row`, made by attestation_row(), gives to `artifact`.
// Errors: data-loss when the row does not say.
[[nodiscard]] Result<std::vector<std::string>> names_in(const storage::StatementRow& row,
                                                        const ArtifactId& artifact);

// Returns the release before the one in `row`, which release_row() made. Errors: data-loss when the
// row does not say.
[[nodiscard]] Result<std::optional<StatementId>> superseded_by(const storage::StatementRow& row);

// Returns what policies read of the withdrawal of a statement; nullopt when it is not withdrawn.
[[nodiscard]] Result<std::optional<policy::WithdrawnFact>> withdrawn_fact(
    storage::Snapshot& snapshot, const StatementId& id);

// Checks a lifecycle statement against its schema and returns its stage. Returns an empty text for
// any other kind of statement.
[[nodiscard]] Result<std::string> stage_of(const Statement& statement);

// Returns the fact that the evaluation of policies reads for the statement `row` (policy/facts.h),
// without the predicate and its withdrawal. `key_of` returns the trusted key of a key id, or an
// error that this function passes on.
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
    fact.signers.push_back({std::move(key), signer.signed_at, signer.certificate});
  }
  return fact;
}

}  // namespace assay::server
