// SPDX-License-Identifier: Apache-2.0
// The case of a decision: everything that the evaluation read, except the time. A case consists of
// documents that name each other by digest (docs/adr/0005). The case is stored with the decision,
// so that a later replay of the decision does not depend on data that may have changed since. Two
// decisions with the same case share all of its documents. A case names its format and the rules by
// which it was judged.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "policy/facts.h"
#include "policy/lineage_results.h"
#include "schemas/decision.h"
#include "server/service/facts/case_parts.h"
#include "server/service/lineage/closure.h"

namespace assay::server {

// One model of a case. A case in which no reference could be resolved has one model, without an
// artifact.
struct CaseModel {
  policy::Facts facts;
  Envelopes envelopes = {};  // of the statements; only in a case read by load_case()
  // The facts (policy/facts.h) that come from signed statements; set only while a case is being
  // made. Null if the model has no artifact.
  std::shared_ptr<const ArtifactFacts> known = {};
  // The parts of facts.lineage; set only while a case is being made. Null if no policy asks for it.
  std::shared_ptr<const LineageFacts> lineage = {};
  // What lineage conditions came to on facts.lineage. Null: nothing is kept.
  std::shared_ptr<const policy::LineageResults> results = {};
};

// A case before it is encoded, or after it was loaded.
struct CaseFile {
  std::vector<CaseModel> models;  // at least one
  policy::Workload workload;      // only the parts that policies read (policy/as_read.h)
  std::vector<ConditionResult> preconditions;
  // Policies in force at the decision, in order of evaluation; only those that match the workload,
  // when there were very many (policy/match_index.h).
  std::vector<StatementId> policies;
  DecisionPoint point;
  // Model names in the request that had no artifact id, distinct, ascending; "" when the mounted
  // places said which model is meant. What policies believe decided which artifacts these are.
  // Empty: the request gave artifact ids. nullopt: not known.
  std::optional<std::vector<std::string>> bare_names = {};
  // The lineages that a policy asks for, as they were read; set only while a case is being made.
  std::vector<SeenLineage> lineages = {};
  // The reference sets whose values `policies` use, ascending.
  std::vector<StatementId> sets = {};
};

// Limit on the bytes of the stored document of a workload. For an ordinary pod, the document has
// some thousand bytes.
inline constexpr std::size_t kMaxWorkloadBytes = 512U << 10;

// A case in its stored form.
struct StoredCase {
  Part file;
  std::vector<Part> parts;  // documents that `file` names
  std::vector<std::shared_ptr<const ArtifactFacts>> models;
  std::vector<std::shared_ptr<const LineageFacts>> lineages = {};
};

// Encodes a case. Errors: limit-exceeded when the workload is longer than kMaxWorkloadBytes.
[[nodiscard]] Result<StoredCase> encode(const CaseFile& file);
// Stores the documents of the case that are not stored yet.
[[nodiscard]] Status put_case(storage::Transaction& transaction, const StoredCase& stored);
// Reads one model of a stored case from its member of the case's document. That names its parts by
// digest, so equal members are equal models. Errors: data-loss.
[[nodiscard]] Result<CaseModel> load_model(storage::Snapshot& snapshot, const Json& member);
// Reads a case that put_case() stored; the models with `read_model`. Errors: case-unsupported for a
// case in another format or judged by other rules (schemas/decision.h); data-loss when any document
// of the case is missing or damaged; those of `read_model`.
using ReadModel = std::function<Result<CaseModel>(const Json& member)>;
[[nodiscard]] Result<CaseFile> load_case(storage::Snapshot& snapshot, const DocumentId& id,
                                         const ReadModel& read_model);
[[nodiscard]] Result<CaseFile> load_case(storage::Snapshot& snapshot, const DocumentId& id);

}  // namespace assay::server
