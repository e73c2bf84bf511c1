// SPDX-License-Identifier: Apache-2.0
// Verdicts and decisions: the answer to "may this model run here?", with every condition explained.
// Decisions are signed, logged and replayed. Schema: decision.schema.json.
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

// Versions of the decision document and of the rules by which it was judged. A case is the stored
// input of a decision (Decision::facts). A decision or case with other versions than these is shown
// unchanged and not judged again, because the same verdict could mean something else under these
// rules.
inline constexpr std::uint64_t kDecisionFormat = 3;
inline constexpr std::uint64_t kEvaluator = 9;

inline constexpr std::string_view kDecisionPayloadType = "application/vnd.assay.decision+json";

// The result of judging a condition. kError is never treated as a pass. kDeferred means that the
// condition is judged only at a later decision point.
enum class Outcome : std::uint8_t { kPass, kFail, kError, kDeferred };
[[nodiscard]] std::string_view name(Outcome outcome);

// The ids of the statements that a condition looked at. Keeps only their number, the first ids, and
// the SHA-256 of the canonical JSON array of all ids. This keeps decisions short when there are
// thousands of statements. Ids cannot be added after construction, so the digest is computed only
// once.
class EvidenceIds {
 public:
  static constexpr std::size_t kShown = 16;

  EvidenceIds();
  EvidenceIds(const std::vector<std::string>& ids);  // NOLINT(google-explicit-constructor)
  EvidenceIds(std::initializer_list<std::string> ids)
      : EvidenceIds(std::vector<std::string>(ids)) {}

  [[nodiscard]] std::uint64_t size() const { return count_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  // Returns the first kShown ids, or all when there are fewer.
  [[nodiscard]] const std::vector<std::string>& first() const { return first_; }
  [[nodiscard]] std::vector<std::string>::const_iterator begin() const { return first_.begin(); }
  [[nodiscard]] std::vector<std::string>::const_iterator end() const { return first_.end(); }
  [[nodiscard]] const Digest& digest() const { return digest_; }

  // Returns {"count", "digest", "first"}.
  [[nodiscard]] Json to_json() const;
  // Parses what to_json wrote. Errors: data-loss for anything else.
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
  Json expected;               // null when there is no expected value
  Json actual;
  EvidenceIds evidence;                // the statements that the condition looked at
  std::vector<ConditionResult> parts;  // results of the inner conditions of a combined condition
};

struct PolicyResult {
  std::string name;
  std::uint64_t version;
  StatementId id;
  PolicyMode mode;
  std::string model;  // artifact id of the judged model; empty when there is none
  Outcome outcome;
  std::vector<ConditionResult> conditions;
};

struct Verdict {
  bool allowed;
  std::vector<Reason> reasons;                 // distinct codes of the failures that deny, in order
  std::vector<std::string> warnings;           // from policies in warn mode
  std::vector<ConditionResult> preconditions;  // such as resolving the reference; all must pass
  std::vector<PolicyResult> policies;          // one for each pair of a matching policy and a model
  // The earliest time after the evaluation at which the verdict may change although nothing else
  // becomes known: an age, an expiry, a window. Absent: there is none. Not part of results_of().
  std::optional<Timestamp> valid_until{};
};

// A model that a decision is about.
struct DecidedModel {
  ArtifactId artifact;
  std::string name;  // name in the reference; empty when the reference has none
  bool operator==(const DecidedModel&) const = default;
};

// A stored, signed, logged verdict.
struct Decision {
  std::string id;  // UUIDv7
  DecisionPoint point;
  Verdict verdict;
  std::vector<DecidedModel> models;  // empty when no reference could be resolved
  Json request;                      // the request: uid, kind, namespace, name, principal
  bool dry_run;
  Timestamp evaluated_at;
  TrustEpochs epochs;
  std::uint64_t policy_epoch;
  TreeSize tree_size;    // size of the log when the case was read
  DocumentId facts;      // id of the case: all input of the evaluation except policies and time
  DocumentId results;    // id of the document results_of(verdict)
  Digest replay_digest;  // see replay_digest()
};

[[nodiscard]] Json to_json(const ConditionResult& result);
[[nodiscard]] Json to_json(const Verdict& verdict);
// Returns the results of a verdict, {"preconditions", "policies"}: a document that decisions with
// equal results share.
[[nodiscard]] Json results_of(const Verdict& verdict);
// Returns the canonical JSON of results_of(verdict), which is its document. Errors: those of
// canonical_json().
[[nodiscard]] Result<std::string> results_text(const Verdict& verdict);
// Returns the decision with all results.
[[nodiscard]] Json to_json(const Decision& decision);
// Returns the form that is signed and stored. It names the document with the results instead of
// containing the results.
[[nodiscard]] Json signed_form(const Decision& decision);

// Returns the digest that a replay must reproduce: SHA-256 over canonical JSON. The JSON contains
// whether the workload is allowed, the reasons, the ids of the judged policies, the id of the case,
// the time, and every result in full.
[[nodiscard]] Result<Digest> replay_digest(const Verdict& verdict, const DocumentId& facts,
                                           Timestamp now);

}  // namespace assay
