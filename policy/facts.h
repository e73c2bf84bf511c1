// SPDX-License-Identifier: Apache-2.0
// What a decision is about, as plain values. Whoever joins the folders (server, cli) collects facts
// from verified and stored documents; evaluation reads nothing else.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/memory_fact.h"
#include "policy/shared_list.h"
#include "schemas/core/artifact.h"
#include "schemas/core/clock.h"
#include "schemas/core/ids.h"
#include "schemas/core/json.h"
#include "schemas/trust.h"

namespace assay::policy {

// One verified signature on a statement.
struct SignerFact {
  TrustedKey key;  // with what the trust store says of it now
  // Time of the log entry that brought this signature: accepted_at of the statement for its first
  // envelope, later for signatures added later. A key that had expired by then never counts.
  Timestamp signed_at;
};

// A statement whose signatures were verified when it was accepted.
struct StatementFact {
  StatementId id;
  std::string predicate_type;
  std::string stage;  // of a lifecycle statement; empty otherwise
  // Null for a manifest (its values are in ManifestFact), and where Facts::tests reads predicates.
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
  Objects objects = Objects::kFiles;  // what its entries are
};

// A signed statement that says where this very artifact lies.
struct PlacementFact {
  StatementFact statement;
  std::string name;
  std::vector<std::string> locations;
};

// The node that the workload goes to, as its enrolment and its newest accepted evidence say.
struct NodeFact {
  std::string name;
  Timestamp enrolled_at;
  Timestamp expires_at;
  std::optional<Revocation> revoked;
  bool worker_measured = false;           // the worker key is bound to accepted evidence
  std::optional<Timestamp> appraised_at;  // the rest is set exactly with this
  std::string evidence_type;
  std::string tcb_status;
  std::optional<Digest> anchor;  // SHA-256 of the root certificate
  bool anchor_is_vendor = false;
  std::optional<DocumentId> appraisal;         // the stored result
  std::optional<DocumentId> appraisal_policy;  // digest of what the evidence was held against
  bool appraisal_current = false;              // that, and its collateral, are still in force
  std::string appraisal_error;  // why the evidence is refused by now; empty: it is accepted
};

// A report of that node about the artifact, newest of its scope and place.
struct ReportFact {
  std::string job;
  std::string scope;
  std::string location;  // that was read; empty for a volume that a pod filled at run time
  std::string volume;    // behind the claim of a pvc:// location; empty: not known, or no claim
  // Uid of the pod whose own mount was read, or that runs the instance. Empty: the node's
  // directory, or an instance outside of every pod.
  std::string pod;
  std::string pod_volume;  // which of its volumes; set exactly with a pod whose mount was read
  std::string instance{};  // whose memory was read; set exactly with scope device-memory
  std::optional<MemoryFact> memory{};  // as `instance`
  std::string result;                  // "verified", "mismatch" or "incomplete"
  std::string differing;  // what differs, for people: "model.safetensors bytes 0-1048576"
  Timestamp reported_at;  // time of its log entry
  // When the service gave out the nonce that the report answers. No byte was read before: ages
  // count from here.
  Timestamp read_since;
  bool worker_measured = false;    // its evidence is accepted
  bool appraisal_current = false;  // ... under what is in force
  bool device_attested = false;
  std::uint64_t spot_checks = 0;
  std::optional<DocumentId> report;
};

// What the API server said of a claim when it was bound to a volume.
struct ClaimFact {
  std::string claim;   // "pvc://<namespace>/<claim>"
  std::string uid;     // of the claim
  std::string volume;  // empty: not bound yet
  bool operator==(const ClaimFact&) const = default;
};

class PredicateTests;
struct StatementIndex;

// Everything known about one artifact, and about the node when there is one. Copies share what is
// signed.
struct Facts {
  std::optional<ArtifactId> artifact;      // absent when the reference could not be resolved
  std::string name;                        // under which it was referenced; empty: under none
  SharedList<ManifestFact> manifests;      // of this artifact
  SharedList<StatementFact> statements;    // about this artifact
  SharedList<PlacementFact> placements{};  // of this artifact
  // From bind on. Absent with a node name in the workload: nothing is known of it.
  std::optional<NodeFact> node;
  std::vector<ReportFact> reports;
  // Claims that the pod mounts, as far as they are known.
  std::vector<ClaimFact> claims;
  // Without a pod: locations that the asker wants a report on; empty: on all that have one.
  std::vector<std::string> asked_locations;
  // Uid of the pod, at serve: reports on its own mounts and on its memory are looked for. Empty
  // without Kubernetes.
  std::string pod;
  // At serve: instances with this artifact that run in this pod, or in none without Kubernetes.
  std::vector<InstanceFact> instances{};
  // What tests of predicates give (policy/compare.h). Null: what the statements here hold is
  // tested. Whoever sets it keeps it alive. No part of the document.
  const PredicateTests* tests = nullptr;
  // Of `statements`, made beforehand (policy/statement_index.h); one of another list, or none, is
  // as good, only slower. No part of the document.
  std::shared_ptr<const StatementIndex> index = nullptr;
};

// What a volume can hold.
enum class VolumeKind : std::uint8_t {
  kScratch,  // emptyDir: empty when the pod starts
  kConfig,   // configMap, secret, projected, downwardAPI
  kModel,    // everything else, unknown sources included
};
[[nodiscard]] std::string_view name(VolumeKind kind);

// One volume in one container.
struct Mount {
  std::string container;
  std::string path;    // where the container sees it; clean, unless it has a part ".."
  std::string volume;  // its name in the pod
  std::string source;  // name of the member that says where it comes from: "persistentVolumeClaim"
  // schemas/location.h, with the sub path; empty when it has none (subPathExpr, unknown sources).
  std::string location;
  VolumeKind kind = VolumeKind::kModel;
  bool read_only = false;
  bool device = false;  // seen as a block device, not as files
};

struct ContainerImage {
  std::string container;
  std::string image;  // as the pod says it
  bool init = false;
  // It may mount again, writable, what it has read-only, or reach it past its mounts: privileges,
  // capabilities, mounts that propagate, the processes or devices of the node.
  bool remounts = false;
};

// The workload that asks, as the match part of policies sees it, and what its containers mount.
struct Workload {
  std::string name_space;
  std::map<std::string, std::string> labels;
  std::vector<std::string> resources;  // names requested or limited by any container
  std::string node{};                  // empty before bind
  bool pod = false;                    // read from a pod or template: mounts and images are judged
  // Ways to an accelerator that were found: "resource:nvidia.com/gpu", "resource-claims",
  // "runtime-class:nvidia", "env:NVIDIA_VISIBLE_DEVICES", "privileged", "cdi-annotation",
  // "device-path:/dev/nvidia0".
  std::vector<std::string> accelerators{};
  std::vector<Mount> mounts{};
  std::vector<ContainerImage> images{};
};

// {"namespace","labels","resources"}; "node" and "accelerators" when there are any; "pod":
// {"mounts", "images"} when it was read from a pod.
[[nodiscard]] Json to_json(const Workload& workload);
// Reads what to_json wrote. Errors as for facts.
[[nodiscard]] Result<Workload> workload_from_json(const Json& json);

// Named in the document, so that a later form can be told from this one.
inline constexpr std::string_view kFactsFormat = "assay-facts-v1";

// Canonical document of the facts: what is stored for replay. Public keys are left out, their ids,
// algorithms, identities, purposes, roles, validity and revocation are in. Facts that differ only
// in the order of manifests, statements, placements, signers, roles, locations or reports have the
// same document. Without a name, a node and reports it has no members for them.
[[nodiscard]] Json to_json(const Facts& facts);
// Reads what to_json wrote (for replay). unknown-member, schema-violation and the errors of the
// values inside; `where` names the place.
[[nodiscard]] Result<Facts> facts_from_json(const Json& json);

}  // namespace assay::policy
