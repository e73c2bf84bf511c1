// SPDX-License-Identifier: Apache-2.0
// Checks an exported decision offline: that the log has it, that the service signed it, and that
// its verdict follows from signed documents by the rules of this program.
#pragma once

#include <string>
#include <vector>

#include "attestation/signed_note.h"
#include "policy/evaluate.h"
#include "schemas/checkpoint.h"
#include "schemas/decision_export.h"

namespace assay::cli {

// Something of a decision that this file cannot show, so that it rests on the service's word.
struct RestsOnWord {
  std::string what;  // kebab-case, for programs
  std::string text;
};

struct VerifiedDecision {
  Json decision;  // the signed document
  Verdict verdict;
  Checkpoint checkpoint;
  LeafIndex index = 0;  // of its record
  std::uint64_t trust_changes = 0;
  std::size_t statements = 0;         // whose signatures verify
  std::vector<std::string> policies;  // in words: name, version, who wrote and approved it
  std::vector<RestsOnWord> word;
};

// The case of an exported decision, which nothing verifies.
struct ExportedCase {
  std::vector<policy::Facts> models;  // with predicates
  policy::Workload workload;
  DecisionPoint point;
  std::vector<ConditionResult> preconditions;
  Timestamp evaluated_at;
};

// Errors: export-inconsistent when something is missing, is there and not needed, or does not
// follow; case-unsupported for a decision that was made by other rules than those of this program;
// those of prove_entries() and follow_governance().
[[nodiscard]] Result<VerifiedDecision> verify_decision_export(
    const DecisionExport& file, const attestation::NoteVerifier& log_key);

// Reads the case for tests of policies. Verifies neither signatures nor the log. Errors:
// export-inconsistent; case-unsupported.
[[nodiscard]] Result<ExportedCase> read_exported_case(const DecisionExport& file);

}  // namespace assay::cli
