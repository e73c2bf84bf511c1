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
#include "schemas/reason.h"
#include "schemas/trust.h"

namespace assay {

// Of the decision document, and of the rules by which it was judged. A decision or case with other
// numbers is shown as it is and not judged again: its verdict would not mean the same.
inline constexpr std::uint64_t kDecisionFormat = 3;
inline constexpr std::uint64_t kEvaluator = 4;

inline constexpr std::string_view kDecisionPayloadType = "application/vnd.assay.decision+json";

// error never counts as pass; deferred belongs to a later decision point and is shown, not judged.
enum class Outcome : std::uint8_t { kPass, kFail, kError, kDeferred };
[[nodiscard]] std::string_view name(Outcome outcome);

// Ids of what was looked at. What is kept of them is how many there are, SHA-256 of the canonical
// JSON array of all, and the first ones: thousands of statements must not make a decision long.
// Nothing is added later, so the digest is made once.
class EvidenceIds {
 public:
  static constexpr std::size_t kShown = 16;

  EvidenceIds();
  EvidenceIds(const std::vector<std::string>& ids);  // NOLINT(google-explicit-constructor)
  EvidenceIds(std::initializer_list<std::string> ids)
      : EvidenceIds(std::vector<std::string>(ids)) {}

  [[nodiscard]] std::uint64_t size() const { return count_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  // The first kShown of them.
  [[nodiscard]] const std::vector<std::string>& first() const { return first_; }
  [[nodiscard]] std::vector<std::string>::const_iterator begin() const { return first_.begin(); }
  [[nodiscard]] std::vector<std::string>::const_iterator end() const { return first_.end(); }
  [[nodiscard]] const Digest& digest() const { return digest_; }

  // {"count", "digest", "first"}
  [[nodiscard]] Json to_json() const;
  // Reads what to_json wrote. data-loss for anything else.
  [[nodiscard]] static Result<EvidenceIds> from_json(const Json& json);

  bool operator==(const EvidenceIds&) const = default;

 private:
  std::uint64_t count_ = 0;
  std::vector<std::string> first_;
  Digest digest_;
};

struct ConditionResult {
  std::string id;
  Outcome outcome;
  std::optional<Reason> code;  // set unless the outcome is pass
  Json expected;               // null when there is nothing to compare
  Json actual;
  EvidenceIds evidence;                // the statements looked at
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
  std::vector<Reason> reasons;        // distinct ones of what failed in enforced policies, in order
  std::vector<std::string> warnings;  // from policies in warn mode
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
  DocumentId facts;      // the case: what evaluation read beside policies and time
  DocumentId results;    // results_of(verdict)
  Digest replay_digest;  // SHA-256 of JCS {policies, facts, now, conditions}
};

[[nodiscard]] Json to_json(const ConditionResult& result);
[[nodiscard]] Json to_json(const Verdict& verdict);
// {"preconditions", "policies"}: the results of a verdict, a document that decisions share.
[[nodiscard]] Json results_of(const Verdict& verdict);
// With all results.
[[nodiscard]] Json to_json(const Decision& decision);
// As it is signed and stored: the results stand in the document that it names.
[[nodiscard]] Json signed_form(const Decision& decision);

// What replay must reproduce: SHA-256 over the canonical JSON of the ids of the policies looked at,
// the case's id, the time and every result, in full.
[[nodiscard]] Result<Digest> replay_digest(const Verdict& verdict, const DocumentId& facts,
                                           Timestamp now);

}  // namespace assay
