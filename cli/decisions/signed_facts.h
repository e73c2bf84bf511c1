// SPDX-License-Identifier: Apache-2.0
// Holds the facts of a decision against the signed documents that they are about.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "cli/decisions/governed.h"
#include "policy/case_documents.h"
#include "schemas/statement.h"

namespace assay::cli {

// A signed statement, as documents and log have it.
struct LoggedStatement {
  Statement statement;
  std::vector<policy::SignerFact> signers;  // with keys of governance, without public keys
  Timestamp accepted_at;
  LeafIndex log_index;
  bool used = false;  // by a fact
};

class SignedFacts {
 public:
  // Verifies the signatures of the statements that records below `known` accepted, under the keys
  // of `governed`. Errors: export-inconsistent when a record names a key whose signature the
  // document has not; those of parsing a document.
  [[nodiscard]] static Result<SignedFacts> open(const ProvenLog& log, TreeSize known,
                                                const Governed& governed,
                                                ExportedDocuments& documents);

  // Checks that each statement in `facts`, its lineage included, says what its document says, with
  // the signers and times of the log, and gives it its predicate. Errors: export-inconsistent.
  [[nodiscard]] Status check(policy::Facts& facts);
  // Errors: export-inconsistent when a statement belongs to no fact.
  [[nodiscard]] Status check_all_used() const;
  [[nodiscard]] std::size_t size() const { return statements_.size(); }

 private:
  [[nodiscard]] Result<const Statement*> check_fact(const policy::StatementFact& fact);
  [[nodiscard]] Status check_manifest(const policy::ManifestFact& fact, const ArtifactId& artifact);
  [[nodiscard]] Status check_placement(const policy::PlacementFact& fact,
                                       const ArtifactId& artifact);
  [[nodiscard]] Status check_statement(policy::StatementFact& fact, const policy::Facts& facts);
  [[nodiscard]] Status check_lineage(const policy::Facts& facts);

  std::map<StatementId, LoggedStatement> statements_;
  [[nodiscard]] Status take_withdrawal(const ProvenEntry& entry, const Governed& governed,
                                       ExportedDocuments& documents);

  std::map<StatementId, policy::WithdrawnFact> withdrawn_;
};

}  // namespace assay::cli
