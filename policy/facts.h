// SPDX-License-Identifier: Apache-2.0
// The facts that a decision is about, as plain values. The callers (server, cli) collect facts from
// verified and stored documents; evaluation reads no other source.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/shared_list.h"
#include "schemas/core/artifact.h"
#include "schemas/core/clock.h"
#include "schemas/core/ids.h"
#include "schemas/core/json.h"
#include "schemas/trust.h"

namespace assay::policy {

// One verified signature on a statement.
struct SignerFact {
  TrustedKey key;  // with the trust store's present state of the key
  // Time of the log entry that brought this signature. Equals accepted_at for signatures of the
  // statement's first envelope; signatures added later have a later time. A signature logged after
  // its key expired never counts.
  Timestamp signed_at;
};

// A statement whose signatures were verified when it was accepted.
struct StatementFact {
  StatementId id;
  std::string predicate_type;
  std::string stage;  // of a lifecycle statement; empty otherwise
  // Null for a manifest (ManifestFact has its values), and when Facts::tests reads the predicates.
  Json predicate;
  std::vector<SignerFact> signers;
  Timestamp accepted_at;  // time of its log entry
  LeafIndex log_index;
};

struct ManifestFact {
  StatementFact statement;
  std::string name;
  TreeParameters parameters;
  std::vector<std::string> locations;
  Objects objects = Objects::kFiles;  // kinds of its entries
};

// A signed statement that says where this artifact lies.
struct PlacementFact {
  StatementFact statement;
  std::string name;
  std::vector<std::string> locations;
};

// The node that the workload goes to, according to its enrolment and its newest accepted evidence.
struct NodeFact {
  std::string name;
  Timestamp enrolled_at;
  Timestamp expires_at;
  std::optional<Revocation> revoked;
  bool worker_measured = false;           // the worker key is bound to accepted evidence
  std::optional<Timestamp> appraised_at;  // set exactly when the members below are
  std::string evidence_type;
  std::string tcb_status;
  std::optional<Digest> anchor;  // SHA-256 of the root certificate
  bool anchor_is_vendor = false;
  std::optional<DocumentId> appraisal;         // the stored result
  std::optional<DocumentId> appraisal_policy;  // digest of the policy applied to it
  bool appraisal_current = false;              // that policy and the collateral are still in force
  std::string appraisal_error;                 // code of the present refusal; empty: accepted
};

// A report of that node about the artifact, the newest of its scope and place.
struct ReportFact {
  std::string job;
  std::string scope;
  std::string location;    // location that was read; empty for a volume filled at run time
  std::string volume;      // behind the claim of a pvc:// location; empty: unknown, or no claim
  std::string pod;         // uid of the pod whose own mount was read; empty: the node's directory
  std::string pod_volume;  // volume of that pod; set exactly with `pod`
  std::string result;      // "verified", "mismatch" or "incomplete"
  std::string differing;   // the difference, for people: "model.safetensors bytes 0-1048576"
  Timestamp reported_at;   // time of its log entry
  // When the service gave out the nonce that the report answers. The node read every byte after
  // this time, so ages count from here.
  Timestamp read_since;
  bool worker_measured = false;    // its evidence is accepted
  bool appraisal_current = false;  // and accepted under the appraisal in force
  bool device_attested = false;
  std::uint64_t spot_checks = 0;
  std::optional<DocumentId> report;
};

// What the API server said about a claim and the volume bound to the claim.
struct ClaimFact {
  std::string claim;   // "pvc://<namespace>/<claim>"
  std::string uid;     // of the claim
  std::string volume;  // empty: not bound yet
  bool operator==(const ClaimFact&) const = default;
};

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
  // Set from bind on. Absent although the workload names a node: the node is unknown.
  std::optional<NodeFact> node;
  std::vector<ReportFact> reports;
  // The known claims among those that the pod mounts.
  std::vector<ClaimFact> claims;
  // Used without a pod: locations that the caller wants a report on. Empty: all locations with a
  // report.
  std::vector<std::string> asked_locations;
  std::string pod;  // uid of the pod, at serve; selects the reports on its own mounts
  // Runs tests of predicates (policy/compare.h). Null: tests run on the predicates in this struct.
  // Not owned: the caller keeps the object alive. Not part of the document.
  const PredicateTests* tests = nullptr;
  // An index of `statements`, made in advance (policy/statement_index.h). May be null or belong to
  // another list: evaluation is then slower but gives the same verdict. Not part of the document.
  std::shared_ptr<const StatementIndex> index = nullptr;
};

// What a volume can hold.
enum class VolumeKind : std::uint8_t {
  kScratch,  // emptyDir: empty when the pod starts
  kConfig,   // configMap, secret, projected, downwardAPI
  kModel,    // everything else, unknown sources included
};
[[nodiscard]] std::string_view name(VolumeKind kind);

// One volume mounted in one container.
struct Mount {
  std::string container;
  std::string path;    // in the container; cleaned, unless it has a ".." part
  std::string volume;  // name of the volume in the pod
  std::string source;  // member that names the volume's source: "persistentVolumeClaim"
  // As in schemas/location.h, with the sub path. Empty when there is no location (subPathExpr,
  // unknown sources).
  std::string location;
  VolumeKind kind = VolumeKind::kModel;
  bool read_only = false;
  bool device = false;  // the container sees a block device, not files
};

struct ContainerImage {
  std::string container;
  std::string image;  // as the pod writes it
  bool init = false;
  // True when the container may remount its read-only volumes as writable, or reach them outside of
  // its mounts. Reasons: privileges, capabilities, mounts that propagate, or the node's processes
  // or devices.
  bool remounts = false;
};

// The workload that a decision is about, as the match part of policies sees it, and its mounts.
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
};

// Writes {"namespace","labels","resources"}. Adds "node" and "accelerators" when not empty, and
// "pod": {"mounts", "images"} when the workload was read from a pod.
[[nodiscard]] Json to_json(const Workload& workload);
// Parses what to_json wrote. Errors: the same as for facts_from_json().
[[nodiscard]] Result<Workload> workload_from_json(const Json& json);

// Stands in every facts document, so that a reader can tell later formats apart.
inline constexpr std::string_view kFactsFormat = "assay-facts-v1";

// Writes the canonical document of the facts, which is stored for replay. Public keys are left out;
// ids, algorithms, identities, purposes, roles, validity and revocation of keys are in. The order
// of manifests, statements, placements, signers, roles, locations and reports does not change the
// document. An absent name, an absent node and an empty list of reports have no member.
[[nodiscard]] Json to_json(const Facts& facts);
// Parses what to_json wrote, for replay. Errors: unknown-member; schema-violation; the errors of
// the values inside. `where` names the place.
[[nodiscard]] Result<Facts> facts_from_json(const Json& json);

}  // namespace assay::policy
