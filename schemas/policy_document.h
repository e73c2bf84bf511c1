// SPDX-License-Identifier: Apache-2.0
// Policies: versioned, immutable JSON documents. Their meaning is in policy/evaluate.h.
// Schemas: policy.schema.json, policy-approval.schema.json.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "schemas/core/clock.h"
#include "schemas/core/ids.h"
#include "schemas/core/json.h"

namespace assay {

inline constexpr std::string_view kPolicyPayloadType = "application/vnd.assay.policy+json";
inline constexpr std::string_view kPolicyApprovalPayloadType =
    "application/vnd.assay.policy-approval+json";

enum class PolicyMode : std::uint8_t { kEnforce, kWarn, kShadow };
// Where a decision is taken; a condition belongs to the first point that can decide it.
enum class DecisionPoint : std::uint8_t { kCreate, kBind, kServe };
enum class Quantifier : std::uint8_t { kEvery, kAny, kLatest };
enum class Comparison : std::uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn
};

[[nodiscard]] std::string_view name(PolicyMode mode);
[[nodiscard]] std::string_view name(DecisionPoint point);
[[nodiscard]] std::string_view name(Quantifier quantifier);
[[nodiscard]] std::string_view name(
    Comparison comparison);  // "==", "!=", "<", "<=", ">", ">=", "in"
[[nodiscard]] Result<DecisionPoint> decision_point_from(std::string_view name);

// Which workloads a policy is about. An absent part matches everything; parts are AND, values
// within a part OR (labels: AND).
struct WorkloadMatch {
  std::vector<std::string> namespaces;        // globs with '*'
  std::map<std::string, std::string> labels;  // all must be present with the value
  std::vector<std::string> resources;         // a container requests or limits one of these
};

// n of m: at least `at_least` distinct identities; only those listed when `identities` is not
// empty.
struct SignerRequirement {
  std::size_t at_least = 1;
  std::vector<std::string> identities;
};

// One comparison with a value in a predicate.
struct PredicateTest {
  std::string pointer;  // RFC 6901, into the predicate
  Comparison op;
  Json value;
};

struct Condition;

// The artifact has a manifest signed by publishers.
struct ManifestCondition {
  SignerRequirement signers;
};
// The artifact has statements of this kind, signed within signer roles, that pass the tests.
struct StatementCondition {
  std::string predicate_type;
  std::string stage;  // for lifecycle statements; empty otherwise
  SignerRequirement signers;
  std::vector<PredicateTest> where;
  Quantifier quantifier = Quantifier::kEvery;
  std::optional<std::uint64_t> max_age_seconds;  // counted from the statement's log entry
};
// The artifact's tree parameters are among these; an empty list does not constrain.
struct ParametersCondition {
  std::vector<std::string> hash;
  std::vector<std::uint32_t> chunk_size;
};
// The workload's node is enrolled, not revoked, and its evidence is as asked. Decided at bind.
struct NodeCondition {
  std::optional<std::uint64_t> max_evidence_age_seconds;  // of its newest accepted evidence
  bool worker_measured = true;          // the worker key is bound to accepted evidence
  std::vector<std::string> tcb_status;  // empty: what the appraisal accepted
  // Anchors ("sha256:...") beside the vendor's; evidence under any other fails.
  std::vector<std::string> anchors;
};
// The node that the workload goes to has verified the artifact. Decided at bind (files) or serve
// (device-memory). Every part that is asked for must hold for the newest report.
struct ReportCondition {
  std::string scope = "files";  // or "device-memory"
  std::optional<std::uint64_t> max_age_seconds;
  bool worker_measured = true;
  bool device_attested = false;
  std::optional<std::uint64_t> min_spot_checks;  // spans that were drawn and answered right
};
struct AllCondition {
  std::vector<Condition> of;
};
struct AnyCondition {
  std::vector<Condition> of;
};
struct NotCondition {
  std::vector<Condition> of;
};  // exactly one
struct AtLeastCondition {
  std::size_t count;
  std::vector<Condition> of;
};

struct Condition {
  std::string id;  // unique in the policy; stable, part of every explanation
  std::variant<ManifestCondition, StatementCondition, ParametersCondition, NodeCondition,
               ReportCondition, AllCondition, AnyCondition, NotCondition, AtLeastCondition>
      kind;
};

struct PolicyDocument {
  std::string name;
  std::uint64_t version;  // 1, 2, ...
  std::string description;
  PolicyMode mode;
  WorkloadMatch match;
  // Labels that the node of a matching pod must have, each with one of these values: the mutating
  // webhook adds them as required node affinity. Empty: none.
  std::map<std::string, std::vector<std::string>> node_affinity;
  std::vector<Condition> require;
};

// Says that a stored policy may go into (or out of) force.
struct PolicyApproval {
  enum class Action : std::uint8_t { kActivate, kDeactivate };
  Action action;
  StatementId policy;      // id of the policy envelope
  std::uint64_t sequence;  // policy epoch that it makes (current + 1): no replay
};

// Strict JSON, schema, unique condition ids, at most 32 levels. policy-invalid with `where` for
// what the schema cannot say.
[[nodiscard]] Result<PolicyDocument> parse_policy(ByteView payload);
[[nodiscard]] Json to_json(const PolicyDocument& policy);
[[nodiscard]] Result<PolicyApproval> parse_policy_approval(ByteView payload);
[[nodiscard]] Json to_json(const PolicyApproval& approval);

}  // namespace assay
