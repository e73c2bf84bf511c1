// SPDX-License-Identifier: Apache-2.0
#include "server/service/collect.h"

#include "attestation/dsse.h"
#include "schemas/manifest.h"
#include "schemas/placement.h"
#include "server/service/outlines.h"
#include "server/service/store_statement.h"

namespace assay::server {
namespace {

Result<Statement> load_statement(storage::Snapshot& snapshot, const storage::StatementRow& row) {
  ASSAY_ASSIGN(const storage::Document document, snapshot.document(row.envelopes.front()));
  ASSAY_ASSIGN(const attestation::Envelope envelope, attestation::parse_envelope(document.bytes));
  return parse_statement(envelope.payload);
}

Result<policy::StatementFact> statement_fact(storage::Snapshot& snapshot,
                                             const storage::StatementRow& row) {
  policy::StatementFact fact{.id = row.id,
                             .predicate_type = row.predicate_type,
                             .stage = row.stage,
                             .predicate = nullptr,
                             .signers = {},
                             .accepted_at = row.accepted_at,
                             .log_index = row.log_index};
  for (const storage::SignerRow& signer : row.signers) {
    ASSAY_ASSIGN(TrustedKey key, snapshot.key(signer.key));
    fact.signers.push_back({std::move(key), signer.signed_at});
  }
  return fact;
}

// The root was recomputed when the manifest was accepted, and the stored bytes are checked against
// their digest whenever they are read: here only parameters and kinds of entries are of interest.
Result<policy::ManifestFact> manifest_fact(const storage::StatementRow& row,
                                           policy::StatementFact fact, const Json& predicate) {
  const bool readable = predicate.is_object() && predicate.contains("parameters") &&
                        predicate.contains("entries") && predicate["entries"].is_array() &&
                        !predicate["entries"].empty();
  if (!readable) {
    return fail(ErrorCode::kDataLoss, "a stored manifest has no parameters or no entries");
  }
  ASSAY_ASSIGN(TreeParameters parameters, tree_parameters_from_json(predicate["parameters"]));
  // Files stand before tensors.
  std::vector<Entry> ends;
  for (const Json* json : {&predicate["entries"].front(), &predicate["entries"].back()}) {
    ASSAY_ASSIGN(Entry entry, entry_from_json(*json, parameters.hash));
    ends.push_back(std::move(entry));
  }
  return policy::ManifestFact{std::move(fact), row.name, std::move(parameters), row.locations,
                              objects_of(ends)};
}

Status add_fact(storage::Snapshot& snapshot, const storage::StatementRow& row,
                policy::Facts& facts) {
  if (row.kind == storage::StatementKind::kManifest && !is_current_manifest(row)) {
    return {};
  }
  ASSAY_ASSIGN(policy::StatementFact fact, statement_fact(snapshot, row));
  ASSAY_ASSIGN(Statement statement, load_statement(snapshot, row));
  if (row.predicate_type == kPlacementPredicateType) {
    facts.placements.push_back({std::move(fact), row.name, row.locations});
    return {};
  }
  if (row.kind != storage::StatementKind::kManifest) {
    fact.predicate = std::move(statement.predicate);
    facts.statements.push_back(std::move(fact));
    return {};
  }
  ASSAY_ASSIGN(policy::ManifestFact manifest,
               manifest_fact(row, std::move(fact), statement.predicate));
  facts.manifests.push_back(std::move(manifest));
  return {};
}

}  // namespace

Result<policy::Facts> collect_facts(storage::Snapshot& snapshot, const ArtifactId& artifact) {
  policy::Facts facts;
  facts.artifact = artifact;
  storage::StatementQuery query;
  query.subject = artifact.text();
  query.with_unanchored = true;
  query.bounds.limit = 1000;
  std::size_t count = 0;
  for (;;) {
    ASSAY_ASSIGN(const auto page, snapshot.statements(query));
    count += page.items.size();
    if (count > kMaxStatementsPerArtifact) {
      return fail(ErrorCode::kLimitExceeded, "there are too many statements about this artifact");
    }
    for (const storage::StatementRow& row : page.items) {
      ASSAY_TRY(add_fact(snapshot, row, facts));
    }
    if (!page.next) {
      return facts;
    }
    query.bounds.after = page.next;
  }
}

}  // namespace assay::server
