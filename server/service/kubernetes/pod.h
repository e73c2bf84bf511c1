// SPDX-License-Identifier: Apache-2.0
// Reads the Kubernetes objects that run pods: the model that a pod names, its labels, images and
// mounts, and its node. Pure functions over untrusted JSON, in which any member may have any type.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/facts.h"
#include "schemas/core/json.h"

namespace assay::server {

// The pod inside an object: a Pod itself, or the template of a Deployment, ReplicaSet, StatefulSet,
// DaemonSet, Job, CronJob or ReplicationController. The template of a StatefulSet gets the claims
// that its first pod will have.
struct PodView {
  std::string pointer;  // JSON pointer of the object that has `metadata` and `spec`; "" for a Pod
  Json metadata;        // object; empty when absent
  Json spec;            // object; empty when absent
};

// Limits on a pod. A pod that exceeds a limit is refused; its lists are never truncated.
inline constexpr std::size_t kMaxPodResources = 256;  // distinct names
// All resource names and images together.
inline constexpr std::size_t kMaxPodNameBytes = 64U << 10;
inline constexpr std::size_t kMaxPodLabels = 256;
inline constexpr std::size_t kMaxPodLabelBytes = 64U << 10;  // names and values together
inline constexpr std::size_t kMaxPodAnnotations = 1024;
// Names and values together. The API server takes no more.
inline constexpr std::size_t kMaxPodAnnotationBytes = 256U << 10;
// The members of a pod's spec that list containers.
inline constexpr std::string_view kInitContainers = "initContainers";
inline constexpr std::string_view kContainerLists[] = {"containers", kInitContainers,
                                                       "ephemeralContainers"};

// Returns the pod inside `object`. Returns nullopt for a kind that runs no pods.
[[nodiscard]] std::optional<PodView> pod_of(std::string_view kind, const Json& object);

// Returns the annotation `name`; empty when it is absent.
[[nodiscard]] std::string annotation(const PodView& pod, std::string_view name);

// Returns the labels of the pod.
[[nodiscard]] std::map<std::string, std::string> labels_of(const PodView& pod);

// Returns the workload of a pod in the namespace `name_space`. The workload has the labels of the
// pod, ways to accelerators (accelerators.h), what the containers mount (pod_volumes.h) and their
// images. It also has the name of every resource that any container requests with a quantity other
// than zero. Volumes that no container mounts are left out, and so are locations that only a
// variable or an annotation names. Annotations of container runtimes can add mounts
// (runtime_annotations.h). Errors: malformed-admission-review for a pod that no API server would
// accept; limit-exceeded for a pod beyond the limits above or those of pod_volumes.h.
[[nodiscard]] Result<policy::Workload> workload_of(const PodView& pod, std::string name_space);

// Returns the name of the node that the pod is bound to; empty when the pod is not bound.
[[nodiscard]] std::string node_of(const PodView& pod);

// Returns the text `member` of the metadata of any object; empty when it is absent.
[[nodiscard]] std::string metadata_text(const Json& object, std::string_view member);

// The content of a Binding: a pod, and the node on which the pod is to run.
struct BindingView {
  std::string name;  // of the pod
  std::string uid;   // of the pod; empty when the binding does not say
  std::string node;
};
// Returns the content of a Binding. Returns nullopt when the target is not a node, or when a name
// is missing.
[[nodiscard]] std::optional<BindingView> binding_of(const Json& object);

// Returns the pod's spec.affinity, changed so that the node must have `labels` (allowed values by
// key). Adds an expression for each label to every term of the node affinity that can select a
// node, because a node needs to match only one term. Returns the affinity unchanged when it already
// requires the labels.
[[nodiscard]] Json with_node_affinity(
    const PodView& pod, const std::map<std::string, std::vector<std::string>>& labels);

}  // namespace assay::server
