// SPDX-License-Identifier: Apache-2.0
// The case of a decision: what evaluation read beside the time, as documents that name each other
// by digest (docs/adr/0005). Kept with the decision, so that replay needs nothing that may have
// changed since; two decisions that rest on the same share all of it. It says its format and the
// rules by which it was judged.
#pragma once

#include <memory>

#include "policy/facts.h"
#include "schemas/decision.h"
#include "server/service/facts/case_parts.h"

namespace assay::server {

// One model of a case. Without an artifact when no reference could be resolved.
struct CaseModel {
  policy::Facts facts;
  Envelopes envelopes = {};  // of statements of a case that was read
  // What `facts` share, of a case that is made; null without an artifact.
  std::shared_ptr<const ArtifactFacts> known = {};
};

struct CaseFile {
  std::vector<CaseModel> models;  // at least one
  policy::Workload workload;      // as the policies read it (policy/as_read.h)
  std::vector<ConditionResult> preconditions;
  std::vector<StatementId> policies;  // in force when it was decided, in the order evaluated
  DecisionPoint point;
};

// Bytes of a workload's document, as policies read it. An ordinary pod has some thousand.
inline constexpr std::size_t kMaxWorkloadBytes = 512U << 10;

// A case as it is stored.
struct StoredCase {
  Part file;
  std::vector<Part> parts;  // that the file names
  std::vector<std::shared_ptr<const ArtifactFacts>> models;
};

// limit-exceeded when the workload is longer than kMaxWorkloadBytes.
[[nodiscard]] Result<StoredCase> encode(const CaseFile& file);
// Stores what is not stored yet.
[[nodiscard]] Status put_case(storage::Transaction& transaction, const StoredCase& stored);
// Reads what put_case stored. case-unsupported when it was written in another format or judged by
// other rules (schemas/decision.h), data-loss when anything of it is missing or damaged.
[[nodiscard]] Result<CaseFile> load_case(storage::Snapshot& snapshot, const DocumentId& id);

}  // namespace assay::server
