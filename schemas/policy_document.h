// SPDX-License-Identifier: Apache-2.0
// Policies: versioned, immutable JSON documents. Their meaning is in policy/evaluate.h.
// Schemas: policy.schema.json, policy-approval.schema.json.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "schemas/core/artifact.h"
#include "schemas/core/clock.h"
#include "schemas/core/ids.h"
#include "schemas/core/json.h"
#include "schemas/policy_match.h"

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

// What a mounted volume has to do with a location of a judged model.
enum class MountRule : std::uint8_t {
  kExact,   // equals it
  kWithin,  // equals it or lies below it: a directory inside of a larger volume
};

[[nodiscard]] std::string_view name(PolicyMode mode);
[[nodiscard]] std::string_view name(DecisionPoint point);
[[nodiscard]] std::string_view name(MountRule rule);  // "exact", "within"
[[nodiscard]] std::string_view name(Quantifier quantifier);
[[nodiscard]] std::string_view name(
    Comparison comparison);  // "==", "!=", "<", "<=", ">", ">=", "in"
[[nodiscard]] Result<DecisionPoint> decision_point_from(std::string_view name);

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
  // Ignore patterns that an artifact may have, compared as text; none other. Absent: does not
  // constrain here (see kUsualIgnore).
  std::optional<std::vector<std::string>> ignore{};
  std::optional<Objects> objects{};  // what the entries must include
};
// The workload's node is enrolled, not revoked, and its evidence is as asked. Decided at bind.
struct NodeCondition {
  std::optional<std::uint64_t> max_evidence_age_seconds;  // of its newest accepted evidence
  bool worker_measured = true;          // the worker key is bound to accepted evidence
  std::vector<std::string> tcb_status;  // empty: what the appraisal accepted
  // Anchors ("sha256:...") beside the vendor's; evidence under any other fails.
  std::vector<std::string> anchors;
};
// The scope of reports on what processes have in memory.
inline constexpr std::string_view kDeviceMemoryScope = "device-memory";
// What a report on device memory must say beside its result.
struct MemoryDemands {
  bool watched = true;    // a heartbeat of the last 10 s says that the instance is verified
  bool in_place = false;  // no byte was hashed from a copy
  std::optional<std::uint64_t> max_uncovered_bytes;  // of buffers that are not registered
  std::optional<std::uint64_t> min_redrawn;          // pieces that were exported anew and compared
  bool operator==(const MemoryDemands&) const = default;
};
// The node that the workload goes to has verified the artifact where the workload finds it. Decided
// at bind, or at serve: what the pod itself has mounted (at_serve), and what its processes have in
// memory (scope device-memory; "in_place", "max_uncovered_bytes", "min_redrawn", "watched"). Every
// part that is asked for must hold for the newest report on each place.
struct ReportCondition {
  std::string scope = "files";  // or "device-memory"
  bool at_serve = false;        // "at": "serve"; only reports on that very pod count
  std::optional<std::uint64_t> max_age_seconds;
  bool worker_measured = true;
  bool device_attested = false;
  std::optional<std::uint64_t> min_spot_checks;  // spans that were drawn and answered right
  MemoryDemands memory{};                        // only with scope device-memory
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
  // What else a matching pod may mount beside the judged models: patterns with '*' over locations
  // (schemas/location.h) and over the names that Kubernetes gives to sources ("nfs"). Empty:
  // nothing.
  std::vector<std::string> other_volumes{};
  // Patterns with '*' over the images of all containers as the pod writes them. Empty: any image.
  std::vector<std::string> images{};
  MountRule mounts = MountRule::kExact;
  // Patterns with '*' over the paths at which containers may have judged models; nothing else is
  // mounted there. Empty: anywhere.
  std::vector<std::string> mount_paths{};
  bool writable_mounts = false;  // containers may write to judged mounts
  // Digests ("sha256:...") of images of init containers that fill a scratch volume with the model
  // when the pod runs: what the pod mounts is then looked at by `serve`.
  std::vector<std::string> fill_at_run{};
  std::vector<Condition> require;
};

// Says that a stored policy may go into (or out of) force.
struct PolicyApproval {
  enum class Action : std::uint8_t { kActivate, kDeactivate };
  Action action;
  StatementId policy;      // id of the policy envelope
  std::uint64_t sequence;  // policy epoch that it makes (current + 1): no replay
};

// Ids of what every decision demands without a policy saying so: no condition has one of them.
inline constexpr std::array<std::string_view, 6> kReservedIds = {
    "reference-bound", "volumes", "images", "ignore-accepted", "model-reference", "node-affinity"};

// Strict JSON, schema, unique condition ids that are not reserved, at most 32 levels.
// policy-invalid with `where` for what the schema cannot say.
[[nodiscard]] Result<PolicyDocument> parse_policy(ByteView payload);
[[nodiscard]] Json to_json(const PolicyDocument& policy);
[[nodiscard]] Result<PolicyApproval> parse_policy_approval(ByteView payload);
[[nodiscard]] Json to_json(const PolicyApproval& approval);

}  // namespace assay
