// SPDX-License-Identifier: Apache-2.0
// Which locations count for a model under one policy, and which of them the pod mounts. Inside of
// policy.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/conditions.h"

namespace assay::policy {

// Something signed that says where a model lies.
struct LocationStatement {
  const JudgedStatement* statement;
  std::string_view name;  // of the model that it is about
  const std::vector<std::string>* locations;
};

// Everything signed that says where this very artifact lies: placements, and the manifests of its
// own root. A manifest that names it as another digest speaks of its own bytes.
[[nodiscard]] std::vector<LocationStatement> location_statements(const JudgedFacts& facts);

// Manifest conditions of a policy that are not below a `not`: those say who may not have signed.
// They borrow from the policy.
using PublisherDemands = std::vector<const ManifestCondition*>;
[[nodiscard]] PublisherDemands publisher_demands(const PolicyDocument& policy);

// Whether the signers of one statement meet all demands by themselves. A policy without demands
// believes nobody: fail.
[[nodiscard]] Outcome meets(const JudgedStatement& statement, const PublisherDemands& demands);

using LocationSet = std::set<std::string, std::less<>>;

// Where one model lies, as one policy believes it.
struct Locations {
  LocationSet counted;
  LocationSet undecided;              // their signers might count
  bool asked = false;                 // the policy says who has to sign
  std::vector<std::string> evidence;  // ids of the statements that count
  // Links of the artifact may lead out of a part of it that is mounted alone, to whatever the pod
  // has there: only all of it counts, also with `mounts: within`.
  bool whole = false;
};

// A location counts only when one statement under the referenced name (under any, when the
// reference has none) names it whose own signers satisfy every manifest condition of the policy
// that is not below a `not`. A policy without such a condition believes nobody.
[[nodiscard]] Locations locations_of(const PolicyDocument& policy, const JudgedFacts& facts,
                                     const std::string& name);

// What the containers of a pod mount, seen by one policy.
struct MountedModels {
  struct Model {
    std::vector<std::string> bound;  // locations of the model that are mounted, ascending
    bool undecided = false;          // a mount is where the model might lie
  };
  std::vector<Model> models;        // in the order of the models
  std::vector<bool> judged;         // for each mount of the workload: it shows a judged model
  std::vector<bool> undecided;      // for each mount: it might show one
  std::vector<std::string> within;  // what is mounted inside of such a location, ascending
  LocationSet bound;                // of all models
};

[[nodiscard]] MountedModels mounted_models(const PolicyDocument& policy, const Workload& workload,
                                           std::span<const Locations> locations);

// Volumes of the pod that an init container fills when it runs and another container reads: names,
// ascending.
struct FilledVolumes {
  LocationSet allowed;  // by an image of the policy's fill_at_run
  LocationSet others;   // by any other init container
  // Init containers with an image of fill_at_run that stand together: whatever comes after the
  // first of them and is none sees what they leave, so one that comes later still may not write.
  std::set<std::string, std::less<>> fillers;
};
[[nodiscard]] FilledVolumes filled_volumes(const PolicyDocument& policy, const Workload& workload);

// The models that a filled volume may hold, by their positions: those that are mounted at no
// location; when each one is mounted, any.
[[nodiscard]] std::vector<std::size_t> models_to_fill(const MountedModels& mounted);

// Condition "reference-bound": the pod mounts the model at a location that counts. Where it mounts
// none and a volume is filled as the policy allows it is deferred to serve; there it passes beside
// a condition on a report that belongs to serve, which then says what the volume holds.
[[nodiscard]] ConditionResult judge_reference(const PolicyDocument& policy,
                                              const Locations& locations,
                                              const MountedModels::Model& mounted,
                                              const FilledVolumes& filled, const Scope& scope);

// At most this many texts in one explanation, each cut after kMaxShownBytes.
inline constexpr std::size_t kMaxShown = 16;
inline constexpr std::size_t kMaxShownBytes = 256;
// The first of `texts`; when there are more, a last entry says how many.
[[nodiscard]] Json shown_texts(std::span<const std::string> texts);

}  // namespace assay::policy
