// SPDX-License-Identifier: Apache-2.0
// long-file: all facts of one document, read top to bottom.
// Facts that a decision is about: plain values that callers collect from verified documents.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/container_image.h"
#include "policy/device_fact.h"
#include "policy/memory_fact.h"
#include "policy/shared_list.h"
#include "policy/stage_evidence_fact.h"
#include "policy/withdrawn_fact.h"
#include "schemas/anchor.h"
#include "schemas/core/artifact.h"
#include "schemas/core/clock.h"
#include "schemas/core/ids.h"
#include "schemas/core/json.h"
#include "schemas/core/model_format.h"
#include "schemas/measured_boot.h"
#include "schemas/trust.h"

namespace assay::policy {

// One verified signature on a statement.
struct SignerFact {
  TrustedKey key;  // the key as the trust store has it at present
  // Time of the log entry that first records this signature. For signatures of the statement's
  // first envelope, this time equals accepted_at; signatures added later have a later time. A
  // signature that was logged after its key expired never counts.
  Timestamp signed_at;
  std::optional<CertificateUse> certificate{};  // of a signature by certificate
};

// A statement whose signatures were verified when it was accepted.
struct StatementFact {
  StatementId id;
  std::string predicate_type;
  std::string stage;  // stage of a lifecycle statement; empty otherwise
  // Null for a manifest, because ManifestFact has its values. Null for every statement when
  // Facts::tests is set, because Facts::tests reads the predicates.
  Json predicate;
  std::vector<SignerFact> signers;
  Timestamp accepted_at;  // time of its log entry
  LeafIndex log_index;
  // Names that the statement itself gives to this artifact, as its subjects have them; any order. A
  // signature counts only when a role of its key covers each of these names. Empty: the name is not
  // known, so only roles for every name count. Not used for manifests and placements, which have
  // one name each.
  std::vector<std::string> names{};
  std::optional<WithdrawnFact> withdrawn{};
  std::vector<StageEvidenceFact> evidence{};  // of the keys that signed; any order
  // Of a statement about another digest of this artifact: the manifests of this artifact that name
  // that digest. The statement counts only under a policy that believes one of these manifests.
  // Empty: the statement names the artifact itself.
  std::vector<StatementId> joined_by{};
};

struct ManifestFact {
  StatementFact statement;
  std::string name;
  TreeParameters parameters;
  std::vector<std::string> locations;
  Objects objects = Objects::kFiles;  // kinds of the artifact's entries
  // Formats of the artifact's files, sorted. Absent: they are not known.
  std::optional<std::vector<ModelFormat>> formats{};
};

// A signed statement that says where this artifact lies.
struct PlacementFact {
  StatementFact statement;
  std::string name;
  std::vector<std::string> locations;
};

// The node that the workload goes to, by its enrolment and its newest accepted evidence.
struct NodeFact {
  std::string name;
  Timestamp enrolled_at;
  Timestamp expires_at;
  std::optional<Revocation> revoked;
  bool worker_measured = false;           // the worker key is bound to accepted evidence
  std::optional<Timestamp> appraised_at;  // absent: the members below are unset
  std::string evidence_type;
  std::string tcb_status;
  std::optional<Anchor> anchor;
  bool anchor_is_vendor = false;
  std::optional<DocumentId> appraisal;         // the stored result
  std::optional<DocumentId> appraisal_policy;  // digest of the appraisal policy that was applied
  bool appraisal_current = false;              // appraisal_policy and collateral are still in force
  std::string appraisal_error;                 // error code if refused at present; empty: accepted
  MatchedReferences matched{};                 // which reference values matched
  std::optional<MeasuredBoot> boot{};          // absent: no event log, or none that was accepted
  std::vector<DeviceFact> devices{};           // with evidence of their own
  // How many devices the node's registration states; absent: it states none.
  std::optional<std::uint64_t> devices_registered{};
};

// The newest report of the node about the artifact, for one scope and one place. A report is a
// node's signed account of what it read and hashed. A place is a location, a volume of a pod, or a
// running model instance.
struct ReportFact {
  std::string job;
  std::string scope;
  std::string location;  // location that was read; empty for a volume filled at run time
  std::string volume;    // persistent volume behind a pvc:// location; empty: unknown, or no claim
  // Uid of the pod whose mount was read, or that runs the instance; empty where there is none.
  std::string pod;
  std::string pod_volume;  // volume of that pod; set exactly with a pod whose mount was read
  std::string instance{};  // instance whose memory was read; set exactly with scope device-memory
  std::optional<MemoryFact> memory{};  // set exactly with `instance`
  std::string result;                  // "verified", "mismatch" or "incomplete"
  std::string differing;  // the difference, for people: "model.safetensors bytes 0-1048576"
  Timestamp reported_at;  // time of its log entry
  // When the service gave out the nonce that the report answers. The node read every byte after
  // this time, so the age of the report is measured from this time.
  Timestamp read_since;
  bool worker_measured = false;    // the worker key is bound to accepted evidence
  bool appraisal_current = false;  // the evidence is accepted by the appraisal policy in force
  std::optional<Timestamp> evidence_valid_until{};  // as StageEvidenceFact::valid_until
  // Every device that read is a device of the node with evidence that counts
  // (policy/device_fact.h).
  bool device_attested = false;
  std::optional<Timestamp> devices_valid_until{};  // when the first of that evidence ends
  // Anchors of that evidence but the vendor's, as NodeCondition names them; ascending.
  std::vector<std::string> device_anchors{};
  std::uint64_t spot_checks = 0;
  std::optional<DocumentId> report;
};

// A persistent volume claim, and the volume bound to the claim, as the API server reported them.
struct ClaimFact {
  std::string claim;   // "pvc://<namespace>/<claim>"
  std::string uid;     // of the claim
  std::string volume;  // empty: not bound yet
  bool operator==(const ClaimFact&) const = default;
};

class Lineage;
class LineageResults;
class PredicateTests;
struct StatementIndex;

// Everything known about one artifact and, when there is a node, about the node. Copies share the
// lists of signed statements.
struct Facts {
  std::optional<ArtifactId> artifact;    // absent when the reference could not be resolved
  std::string name;                      // name in the reference; empty: the reference has no name
  SharedList<ManifestFact> manifests;    // of this artifact
  SharedList<StatementFact> statements;  // about this artifact
  SharedList<PlacementFact> placements{};  // of this artifact
  // The node of the workload, set from bind on. Absent although the workload names a node: the
  // service does not know this node.
  std::optional<NodeFact> node;
  std::vector<ReportFact> reports;
  // The claims that the pod mounts, as far as they are known.
  std::vector<ClaimFact> claims;
  // Without a pod: the locations that each need a report. Empty: at least one, of any.
  std::vector<std::string> asked_locations;
  // Uid of the pod, set at serve; selects the reports on mounts and on memory of this pod. Empty
  // without Kubernetes.
  std::string pod;
  // At serve: the running model instances (policy/memory_fact.h) with this artifact in this pod;
  // without Kubernetes, those that run in no pod.
  std::vector<InstanceFact> instances{};
  // What the artifact was made from (policy/lineage.h). Null: nothing is known.
  std::shared_ptr<const Lineage> lineage{};
  // Runs tests of predicates (policy/compare.h). Null: tests run on the predicates in this struct.
  // Not owned: the caller keeps the object alive. to_json() leaves out this member and the next
  // two.
  const PredicateTests* tests = nullptr;
  // An index of `statements`; null or of another list: evaluation is slower, the verdict the same.
  std::shared_ptr<const StatementIndex> index = nullptr;
  // Keeps what lineage conditions come to. Null: each evaluation judges them. Not owned.
  const LineageResults* lineage_results = nullptr;
};

// What a volume can hold.
enum class VolumeKind : std::uint8_t {
  kScratch,  // emptyDir: empty when the pod starts
  kConfig,   // configMap, secret, projected, downwardAPI
  kModel,    // every other source, even an unknown one
};
[[nodiscard]] std::string_view name(VolumeKind kind);

// One volume mounted in one container.
struct Mount {
  std::string container;
  std::string path;    // in the container; without empty and "." parts, unless it has a ".." part
  std::string volume;  // name of the volume in the pod
  std::string source;  // kind of the volume's source: "persistentVolumeClaim"
  // Location of the mounted files (schemas/location.h), with the sub path. Empty when the location
  // cannot be known (subPathExpr, roots of hosts, unknown sources).
  std::string location;
  VolumeKind kind = VolumeKind::kModel;
  bool read_only = false;
  // Whatever the node has mounted below the mounted files is read-only too. True only where
  // `read_only` is, since a mount that is read-only says nothing of those below it.
  bool read_only_below = false;
  bool device = false;  // the container sees a block device, not files
  // Path inside the volume of the part that is mounted ("/a/b"). "" for the whole volume; nullopt
  // when the pod does not tell (subPathExpr), so that the part may be any.
  std::optional<std::string> part = "";
  // Location of the whole volume. Set only when `location` is empty although the volume has a
  // location.
  std::string volume_location{};
};

// Who asked for the workload, when it was created. What is absent is not known.
struct Requester {
  std::optional<std::string> user{};                 // as the API server names the user
  std::optional<std::vector<std::string>> groups{};  // all groups of that user
  std::optional<std::string> service_account{};      // of the pod: "NAMESPACE/NAME"
  std::optional<std::string> principal{};            // caller of this service, without a pod
  bool operator==(const Requester&) const = default;
};

// The workload that a decision is about: the properties that the match part of policies looks at,
// and the mounts and images of a pod.
struct Workload {
  std::string name_space;
  std::map<std::string, std::string> labels;
  std::vector<std::string> resources;  // names that any container requests or limits
  std::string node{};                  // empty before bind
  bool pod = false;                    // read from a pod or template: mounts and images are judged
  // Ways to an accelerator that were found: "resource:nvidia.com/gpu", "resource-claims",
  // "runtime-class:nvidia", "env:NVIDIA_VISIBLE_DEVICES", "privileged", "cdi-annotation",
  // "device-path:/dev/nvidia0".
  std::vector<std::string> accelerators{};
  std::vector<Mount> mounts{};
  std::vector<ContainerImage> images{};
  Requester requester{};
};

// Writes {"namespace","labels","resources"}. Adds "node" and "accelerators" when not empty,
// "requester" with what is known of who asked, and "pod": {"mounts", "images"} for a pod. A mount
// has "part" when it shows a part of its volume: the path, or null when the path is not known.
[[nodiscard]] Json to_json(const Workload& workload);
// Parses what to_json() wrote. Errors: those of facts_from_json() below.
[[nodiscard]] Result<Workload> workload_from_json(const Json& json);

// Name of the format, which every facts document contains.
inline constexpr std::string_view kFactsFormat = "assay-facts-v1";

// Writes the canonical document of the facts, which is stored for replay. Public keys are left out;
// ids, algorithms, identities, purposes, roles, validity and revocation of keys are included. The
// order of manifests, statements, placements, signers, roles, locations and reports does not change
// the document. There is no member for an absent name, an absent node or an empty list of reports.
[[nodiscard]] Json to_json(const Facts& facts);
// Parses what to_json() wrote. Errors: unknown-member; schema-violation; those of value parsers.
[[nodiscard]] Result<Facts> facts_from_json(const Json& json);

}  // namespace assay::policy
