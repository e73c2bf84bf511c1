// SPDX-License-Identifier: Apache-2.0
// Policies: versioned, immutable JSON documents. policy/evaluate.h defines their meaning.
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
#include "schemas/core/model_format.h"
#include "schemas/device_demands.h"
#include "schemas/evidence_demands.h"
#include "schemas/lineage_condition.h"
#include "schemas/memory_demands.h"
#include "schemas/policy_match.h"
#include "schemas/policy_names.h"
#include "schemas/predicate_comparison.h"
#include "schemas/reason.h"
#include "schemas/reference_set.h"
#include "schemas/time_window.h"

namespace assay {

inline constexpr std::string_view kPolicyPayloadType = "application/vnd.assay.policy+json";
inline constexpr std::string_view kPolicyApprovalPayloadType =
    "application/vnd.assay.policy-approval+json";

enum class PolicyMode : std::uint8_t { kEnforce, kWarn, kShadow };
// When a decision is made. kCreate: the pod is known. kBind: the pod's node is known too. kServe:
// the pod runs, and somebody asks whether it may serve. A condition is judged at the first point at
// which it can be decided, and at every later point.
enum class DecisionPoint : std::uint8_t { kCreate, kBind, kServe };
enum class Quantifier : std::uint8_t { kEvery, kAny, kLatest };

// How a mounted volume must relate to a location (schemas/location.h) of a judged model, which is a
// model that the decision is about.
enum class MountRule : std::uint8_t {
  kExact,   // equals the location
  kWithin,  // equals the location or lies below it, in a larger volume
};

[[nodiscard]] std::string_view name(PolicyMode mode);
[[nodiscard]] std::string_view name(DecisionPoint point);
[[nodiscard]] std::string_view name(MountRule rule);  // "exact", "within"
[[nodiscard]] std::string_view name(Quantifier quantifier);
[[nodiscard]] Result<DecisionPoint> decision_point_from(std::string_view name);

// In SignerRequirement::none_of: everybody whose signature on a manifest of the artifact counts.
inline constexpr std::string_view kPublishers = "publishers";

// Requires signatures of at least `at_least` distinct identities. When `identities` is not empty,
// only the listed identities are counted.
struct SignerRequirement {
  std::size_t at_least = 1;
  std::vector<std::string> identities;
  // Ids of manifest and statement conditions of the policy, or kPublishers. An identity is not
  // counted here when its signature counts there. Only in statement conditions.
  std::vector<std::string> none_of{};
};

struct Condition;

// A condition that requires a manifest of the artifact, signed by publishers.
struct ManifestCondition {
  SignerRequirement signers;
};
// A condition that requires statements of one predicate type and stage about the artifact. A
// statement satisfies the condition only if the roles of its signers cover it, and if it passes the
// tests in `where`.
struct StatementCondition {
  std::string predicate_type;
  std::string stage;  // stage of lifecycle statements; empty otherwise
  SignerRequirement signers;
  std::vector<PredicateTest> where;
  Quantifier quantifier = Quantifier::kEvery;
  std::optional<std::uint64_t> max_age_seconds;  // since the time of the statement's log entry
  // When not empty: only statements with a signature of one of these identities are considered, and
  // of their signatures only those of these identities. JSON: "considered": {"identities": [...]}.
  std::vector<std::string> considered{};
  // Demands on stage evidence by a signer that counts; absent: no evidence is needed.
  std::optional<EvidenceDemands> evidence{};
};
// A condition about who asked for the workload. Each list that is not empty must have a pattern
// ('*' stands for any characters) that matches. A value that is not known is an error.
struct RequestCondition {
  std::vector<std::string> users;   // user name that the API server gives, at creation of the pod
  std::vector<std::string> groups;  // one of the groups of that user
  std::vector<std::string> service_accounts;  // of the pod: "NAMESPACE/NAME"
  std::vector<std::string> principals;        // caller of this service, without a pod
};
// A condition that passes while the window is open.
struct WindowCondition {
  TimeWindow window;
};
// A condition that requires that the artifact's tree parameters are in these lists. An empty list
// allows any value.
struct ParametersCondition {
  std::vector<std::string> hash;
  std::vector<std::uint32_t> chunk_size;
  // Ignore patterns that an artifact may have, compared as text; no other patterns are accepted.
  // Absent: this condition does not constrain patterns (see kUsualIgnore).
  std::optional<std::vector<std::string>> ignore{};
  std::optional<Objects> objects{};  // what the entries must include
  // Formats that the artifact's files may have. Empty: not constrained.
  std::vector<ModelFormat> formats{};
};
// A condition that requires that the workload's node is enrolled and not revoked, and that the
// node's evidence meets these requirements. Decided at bind.
struct NodeCondition {
  std::optional<std::uint64_t> max_evidence_age_seconds;  // age of the newest accepted evidence
  bool worker_measured = true;          // the worker key is bound to accepted evidence
  std::vector<std::string> tcb_status;  // empty: any status that the appraisal accepted
  // Digests ("sha256:...") of anchors (root certificates) that are accepted in addition to the
  // vendor's. Evidence under any other anchor fails.
  std::vector<std::string> anchors;
  std::optional<BootDemands> boot{};      // absent: no event log is asked for
  std::optional<DeviceDemands> device{};  // absent: no evidence of devices is asked for
};
// The scope of reports (schemas/verification_report.h) about the memory of processes.
inline constexpr std::string_view kDeviceMemoryScope = "device-memory";
// A condition that requires that the workload's node has verified the artifact where the workload
// reads it. Usually decided at bind. With `at_serve` (for the mounts of the pod itself) and with
// scope device-memory (for the memory of the pod's processes), decided at serve. The newest report
// on each such mount, location or instance must meet every requirement.
struct ReportCondition {
  std::string scope = "files";  // or "device-memory"
  bool at_serve = false;  // JSON: "at": "serve"; requires reports on the mounts of the same pod
  std::optional<std::uint64_t> max_age_seconds;
  bool worker_measured = true;
  bool device_attested = false;
  std::vector<std::string> anchors{};  // of evidence of devices, as NodeCondition::anchors
  std::optional<std::uint64_t> min_spot_checks;  // least number of spans answered correctly
  MemoryDemands memory{};                        // used only with scope device-memory
};
struct AllCondition {
  std::vector<Condition> of;
};
struct AnyCondition {
  std::vector<Condition> of;
};
struct NotCondition {
  std::vector<Condition> of;
};  // `of` has exactly one condition
struct AtLeastCondition {
  std::size_t count;
  std::vector<Condition> of;
};

// Why a condition cannot be judged: no values stand in the place of a reference set that it names.
struct OpenSet {
  std::string name;  // of the set
  Reason code;       // kReferenceSetMissing or kReferenceSetMismatch
};

struct Condition {
  std::string id;  // unique in the policy; stable; named in every explanation
  std::variant<ManifestCondition, StatementCondition, ParametersCondition, NodeCondition,
               ReportCondition, LineageCondition, RequestCondition, WindowCondition, AllCondition,
               AnyCondition, NotCondition, AtLeastCondition>
      kind;
  // Set by parse_policy() when a list names a set ("set:NAME"); policy/reference_sets.h puts the
  // values of the set in the place of its name. While it is set, the condition is an error.
  std::optional<OpenSet> open_set{};
};

// What init containers with an image of PolicyDocument::fill_at_run may run: exact lists, as a pod
// spells its `command` and `args`. An empty list: the pod gives none. Absent: not bound.
struct Filler {
  std::string image;  // digest ("sha256:..."), one of fill_at_run
  std::optional<std::vector<std::string>> command{};
  std::optional<std::vector<std::string>> args{};
};

struct PolicyDocument {
  std::string name;
  std::uint64_t version;  // 1, 2, ...
  std::string description;
  PolicyMode mode;
  WorkloadMatch match;
  // Labels that the node of a matching pod must have, each with one of the listed values. The
  // mutating webhook adds them as required node affinity. Empty: no labels.
  std::map<std::string, std::vector<std::string>> node_affinity;
  // Volumes that a matching pod may mount beside the judged models. Patterns with '*' are matched
  // against locations (schemas/location.h) and against Kubernetes' names of volume sources ("nfs").
  // Empty: no other volumes.
  std::vector<std::string> other_volumes{};
  // Patterns with '*' for the images of all containers, as the pod writes them. Empty: any image.
  std::vector<std::string> images{};
  MountRule mounts = MountRule::kExact;
  // Patterns with '*' for the paths at which containers may mount judged models. Only models may be
  // mounted at these paths. Empty: any path.
  std::vector<std::string> mount_paths{};
  bool writable_mounts = false;  // containers may write to judged mounts
  // Digests ("sha256:...") of images of init containers that fill a scratch volume with the model
  // when the pod runs. Conditions about the content of such a volume are decided at serve.
  std::vector<std::string> fill_at_run{};
  // A container whose image is named here must run what one entry for the image says. Images of
  // fill_at_run without an entry run anything.
  std::vector<Filler> fillers{};
  NamePolicy names{};  // which artifact a model name without an artifact id stands for
  std::vector<Condition> require;
};

// A signed approval that a stored policy comes into force or goes out of force.
struct PolicyApproval {
  enum class Action : std::uint8_t { kActivate, kDeactivate };
  Action action;
  StatementId policy;      // id of the policy envelope
  std::uint64_t sequence;  // resulting policy epoch (current + 1); prevents replay
};

// Ids of the conditions that every decision has implicitly. Conditions of policies cannot use these
// ids.
inline constexpr std::array<std::string_view, 7> kReservedIds = {
    "reference-bound", "volumes",       "images",   "ignore-accepted",
    "model-reference", "node-affinity", kPublishers};

// Parses strict JSON and checks the schema. Condition ids must be unique and not reserved;
// conditions nest at most 32 levels. Errors: policy-invalid, with `where`, for violations that the
// schema cannot express; the errors of parse_json() and validate().
[[nodiscard]] Result<PolicyDocument> parse_policy(ByteView payload);
// Does the same for one of several policies that share `budget` (schemas/pattern.h).
[[nodiscard]] Result<PolicyDocument> parse_policy(ByteView payload, PatternBudget& budget);
[[nodiscard]] Json to_json(const PolicyDocument& policy);
[[nodiscard]] Result<PolicyApproval> parse_policy_approval(ByteView payload);
[[nodiscard]] Json to_json(const PolicyApproval& approval);

}  // namespace assay
