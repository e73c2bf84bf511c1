// SPDX-License-Identifier: Apache-2.0
#include "server/service/collect.h"

#include "attestation/dsse.h"
#include "schemas/manifest.h"
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
// their digest whenever they are read: here only the parameters are of interest.
Status add_fact(storage::Snapshot& snapshot, const storage::StatementRow& row,
                policy::Facts& facts) {
  ASSAY_ASSIGN(policy::StatementFact fact, statement_fact(snapshot, row));
  ASSAY_ASSIGN(Statement statement, load_statement(snapshot, row));
  if (row.kind != storage::StatementKind::kManifest) {
    fact.predicate = std::move(statement.predicate);
    facts.statements.push_back(std::move(fact));
    return {};
  }
  if (!statement.predicate.is_object() || !statement.predicate.contains("parameters")) {
    return fail(ErrorCode::kDataLoss, "a stored manifest has no parameters");
  }
  ASSAY_ASSIGN(const TreeParameters parameters,
               tree_parameters_from_json(statement.predicate["parameters"]));
  facts.manifests.push_back({std::move(fact), row.name, parameters, row.locations});
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
