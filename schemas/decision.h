// SPDX-License-Identifier: Apache-2.0
// Verdicts and decisions: the answer to "may this model run here?", every condition explained, in a
// form that is signed, logged and replayed. Schema: decision.schema.json.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schemas/core/clock.h"
#include "schemas/core/ids.h"
#include "schemas/core/json.h"
#include "schemas/policy_document.h"
#include "schemas/trust.h"

namespace assay {

// Of the decision document, and of the rules by which it was judged. A decision or case with other
// numbers is shown as it is and not judged again: its verdict would not mean the same.
inline constexpr std::uint64_t kDecisionFormat = 2;
inline constexpr std::uint64_t kEvaluator = 2;

inline constexpr std::string_view kDecisionPayloadType = "application/vnd.assay.decision+json";

// error never counts as pass; deferred belongs to a later decision point and is shown, not judged.
enum class Outcome : std::uint8_t { kPass, kFail, kError, kDeferred };
[[nodiscard]] std::string_view name(Outcome outcome);

struct ConditionResult {
  std::string id;
  Outcome outcome;
  std::optional<ErrorCode> code;  // set unless the outcome is pass
  Json expected;                  // null when there is nothing to compare
  Json actual;
  std::vector<std::string> evidence;   // ids of the statements looked at
  std::vector<ConditionResult> parts;  // of a combined condition
};

struct PolicyResult {
  std::string name;
  std::uint64_t version;
  StatementId id;
  PolicyMode mode;
  std::string model;  // artifact id of the model judged; empty when there is none
  Outcome outcome;
  std::vector<ConditionResult> conditions;
};

struct Verdict {
  bool allowed;
  std::vector<ErrorCode> reasons;  // distinct codes of what failed in enforced policies, in order
  std::vector<std::string> warnings;           // from policies in warn mode
  std::vector<ConditionResult> preconditions;  // reference resolution and the like; all must pass
  std::vector<PolicyResult> policies;          // one for each policy that matches and each model
};

// A model that a decision is about.
struct DecidedModel {
  ArtifactId artifact;
  std::string name;  // under which it was referenced; empty when under none
  bool operator==(const DecidedModel&) const = default;
};

// A stored, signed, logged verdict.
struct Decision {
  std::string id;  // UUIDv7
  DecisionPoint point;
  Verdict verdict;
  std::vector<DecidedModel> models;  // empty when no reference could be resolved
  Json request;                      // who asked for what: uid, kind, namespace, name, principal
  bool dry_run;
  Timestamp evaluated_at;
  TrustEpochs epochs;
  std::uint64_t policy_epoch;
  TreeSize tree_size;    // the log when the facts were read
  DocumentId facts;      // the facts document
  Digest replay_digest;  // SHA-256 of JCS {policies, facts, now, conditions}
};

[[nodiscard]] Json to_json(const ConditionResult& result);
[[nodiscard]] Json to_json(const Verdict& verdict);
[[nodiscard]] Json to_json(const Decision& decision);

// What replay must reproduce: SHA-256 over the canonical JSON of the ids of the policies looked at,
// the facts document's id, the time and every result.
[[nodiscard]] Result<Digest> replay_digest(const Verdict& verdict, const DocumentId& facts,
                                           Timestamp now);

}  // namespace assay
