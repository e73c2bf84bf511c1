// SPDX-License-Identifier: Apache-2.0
// Computes which locations of a model one policy accepts, and which of these locations the pod
// mounts. Internal to policy.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/conditions.h"

namespace assay::policy {

// A signed statement that says where a model lies.
struct LocationStatement {
  const JudgedStatement* statement;
  std::string_view name;  // of the model in the statement
  const std::vector<std::string>* locations;
};

// Returns every signed statement that says where this artifact lies: placements (statements that
// add locations to an artifact), and manifests whose root is this artifact. A manifest with another
// root may name this artifact as a further digest. Such a manifest is left out, because its
// locations hold the bytes of its own root.
[[nodiscard]] std::vector<LocationStatement> location_statements(const JudgedFacts& facts);

// The manifest conditions of a policy, borrowed from the policy. Conditions below a `not` are left
// out, because such conditions say who may not have signed.
using PublisherDemands = std::vector<const ManifestCondition*>;
[[nodiscard]] PublisherDemands publisher_demands(const PolicyDocument& policy);
// The same of the conditions of a policy, `require`.
[[nodiscard]] PublisherDemands publisher_demands(const std::vector<Condition>& require);

// Judges whether the signers of this one statement meet all demands. Without demands the outcome is
// fail, because the policy then accepts no signer.
[[nodiscard]] Outcome meets(const JudgedStatement& statement, const PublisherDemands& demands);

// Returns the names under which the policy believes statements about the artifact: those of
// manifests of this very root whose own signers meet all demands. When `name`, the name in the
// reference, is not empty, no other name is returned. A policy without demands believes no name.
[[nodiscard]] Names names_of(const PublisherDemands& demands, const JudgedFacts& facts,
                             std::string_view name);

// Returns the manifests that give these names. Empty when no statement is about another digest of
// the artifact, because nothing depends on them then.
[[nodiscard]] Believed believed_manifests(const PublisherDemands& demands, const JudgedFacts& facts,
                                          std::string_view name);

using LocationSet = std::set<std::string, std::less<>>;

// The locations of one model that one policy accepts (`counted`) or may accept (`undecided`).
struct Locations {
  LocationSet counted;
  LocationSet undecided;  // locations that may become accepted, because signers are undecided
  bool asked = false;     // true: the policy has a manifest condition that is not below a `not`
  std::vector<std::string> evidence;  // ids of the statements that name accepted locations
  // True when the artifact follows symbolic links. When true, a mount must show the whole location,
  // even if the policy says `mounts: within` (which otherwise allows mounting only a subdirectory).
  // The reason is that links may lead out of a mounted subdirectory, to other files of the pod.
  bool whole = false;
};

// Computes the locations that the policy accepts. A location is accepted when a single statement
// names it, the statement has the model name `name`, and the statement's own signers satisfy every
// demand (publisher_demands()). An empty `name` accepts every name. Without demands no location is
// accepted.
[[nodiscard]] Locations locations_of(const PolicyDocument& policy, const JudgedFacts& facts,
                                     const std::string& name);

// Which of the judged models the containers of a pod mount, under one policy.
struct MountedModels {
  struct Model {
    std::vector<std::string> bound;  // locations of the model that are mounted, ascending
    bool undecided = false;          // the pod mounts an undecided location
  };
  std::vector<Model> models;    // one for each judged model, in the order given
  std::vector<bool> judged;     // for each mount of the workload: true when it shows a judged model
  std::vector<bool> undecided;  // for each mount: true when it may show a judged model
  std::vector<std::string> within;  // mounted locations below an accepted location, ascending
  LocationSet bound;                // mounted locations of all models
};

[[nodiscard]] MountedModels mounted_models(const PolicyDocument& policy, const Workload& workload,
                                           std::span<const Locations> locations);

// Names of the pod's volumes that an init container fills at run time and another container also
// mounts.
struct FilledVolumes {
  LocationSet allowed;  // filled by an image of the policy's fill_at_run
  LocationSet others;   // filled by any other init container
  // Init containers with such an image that run something else than the policy lets the image run,
  // and in which list: "initializer: args".
  LocationSet differing;
  // The init containers with an image of fill_at_run, up to the first other container that starts
  // after one of them. Later init containers with such an image may not write to these volumes,
  // because that other container has already seen the volumes.
  std::set<std::string, std::less<>> fillers;
  // True when a container that is no filler may mount a known part of such a volume instead of the
  // whole: the policy says `mounts: within`, and no model that the volume may hold follows symbolic
  // links. Set by parts_count().
  bool parts = false;
};
[[nodiscard]] FilledVolumes filled_volumes(const PolicyDocument& policy, const Workload& workload);

// Returns the positions of the models that a filled volume may hold. These are the models that the
// pod mounts at no location. When the pod mounts every model at a location, every model is
// returned.
[[nodiscard]] std::vector<std::size_t> models_to_fill(const MountedModels& mounted);

// Returns the value of FilledVolumes::parts. `locations` are those of all models of the pod.
[[nodiscard]] bool parts_count(const PolicyDocument& policy, const MountedModels& mounted,
                               std::span<const Locations> locations);

// Judges the condition "reference-bound": the pod mounts the model at a location that the policy
// accepts. When the pod mounts no such location but has a volume filled as the policy allows, the
// condition is deferred to serve (the last decision, when the pod is about to work). At serve, the
// condition passes if the policy also requires a report (a node's statement of the hashes of files)
// at serve, because that report says what the volume holds.
[[nodiscard]] ConditionResult judge_reference(const PolicyDocument& policy,
                                              const Locations& locations,
                                              const MountedModels::Model& mounted,
                                              const FilledVolumes& filled, const Scope& scope);

// Limits of shown_texts(): at most kMaxShown texts, each cut after kMaxShownBytes bytes.
inline constexpr std::size_t kMaxShown = 16;
inline constexpr std::size_t kMaxShownBytes = 256;
// Returns the first kMaxShown of `texts`. When there are more, a last entry says how many were left
// out.
[[nodiscard]] Json shown_texts(std::span<const std::string> texts);

}  // namespace assay::policy
