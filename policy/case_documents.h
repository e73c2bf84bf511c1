// SPDX-License-Identifier: Apache-2.0
// Reads the case of a decision: everything that its evaluation read, except the time. A case is
// documents that name each other by digest (docs/adr/0005). The service reads them from its store,
// and whoever checks an exported decision reads them from a file. server/service/decisions writes
// them. Pure functions over a function that finds a document.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policy/facts.h"
#include "schemas/decision.h"

namespace assay::policy {

// Returns the JSON of a document of the case.
using ReadPart = std::function<Result<Json>(const DocumentId& id)>;

// One stored envelope of each statement: where its predicate is.
using Envelopes = std::map<StatementId, DocumentId>;

// Shape of the tree of documents that names the items of a list (PartList in
// server/service/facts/case_parts.h).
inline constexpr std::size_t kCaseFanOut = 32;
inline constexpr std::size_t kCaseLevels = 6;

// A case without its models.
struct CaseHead {
  std::vector<Json> models;  // read_case_model() reads each; at least one
  Workload workload;
  std::vector<ConditionResult> preconditions;
  std::vector<StatementId> policies;  // as CaseFile of server/service/decisions/case_file.h
  std::vector<StatementId> sets;
  DecisionPoint point;
  std::optional<std::vector<std::string>> bare_names;
};
// Errors, here and below: data-loss for a document that is not of its form; case-unsupported for a
// case in another format or judged by other rules (schemas/decision.h); those of `read`.
[[nodiscard]] Result<CaseHead> read_case(const ReadPart& read, const DocumentId& id);

// The facts about one model of a case, without predicates.
struct CaseModelFacts {
  Facts facts;
  Envelopes envelopes;  // of facts.statements
};
[[nodiscard]] Result<CaseModelFacts> read_case_model(const ReadPart& read, const Json& member);

// Returns the items of a list, in order.
[[nodiscard]] Result<std::vector<Json>> read_case_list(const ReadPart& read,
                                                       const DocumentId& root);
// Returns the document of the lineage whose head is `head`, as to_json(Lineage) writes it.
[[nodiscard]] Result<Json> read_case_lineage(const ReadPart& read, const DocumentId& head);

// Puts what the trust store says of the signers of a statement back into its document. `keys` has
// it by key id. Errors: data-loss.
[[nodiscard]] Status join_signers(Json& statement, const Json& keys);

}  // namespace assay::policy
