// SPDX-License-Identifier: Apache-2.0
// The parts that Assay reads of a Kubernetes object that runs pods: the model it names, the sources
// of its volumes, what policies match on, and its node. Pure functions over untrusted JSON; no type
// in it is taken for granted.
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

// Limits on a pod. A pod with more is refused; its lists are never truncated.
inline constexpr std::size_t kMaxPodResources = 256;        // distinct names
inline constexpr std::size_t kMaxPodNameBytes = 64U << 10;  // resource names and images together
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
// than zero. Volumes that no container mounts do not count, nor do variables and annotations that
// name places. Errors: malformed-admission-review for what no API server accepts; limit-exceeded
// for more containers, volumes or mounts than any honest pod has.
[[nodiscard]] Result<policy::Workload> workload_of(const PodView& pod, std::string name_space);

// Returns the name of the node that the pod is bound to; empty when the pod is not bound.
[[nodiscard]] std::string node_of(const PodView& pod);

// Returns the text `member` of the metadata of any object; empty when it is absent.
[[nodiscard]] std::string metadata_text(const Json& object, std::string_view member);

// The content of a Binding: the pod, and the node for the pod.
struct BindingView {
  std::string name;  // of the pod
  std::string uid;   // of the pod; empty when the binding does not say
  std::string node;
};
// Returns the content of a Binding. Returns nullopt when the target is not a node, or when a name
// is missing.
[[nodiscard]] std::optional<BindingView> binding_of(const Json& object);

// Returns the pod's spec.affinity with `labels` required of the node. Every term of the node
// affinity that selects anything gets an expression for each label, because one matching term
// selects a node. Returns the present affinity when nothing is missing.
[[nodiscard]] Json with_node_affinity(
    const PodView& pod, const std::map<std::string, std::vector<std::string>>& labels);

}  // namespace assay::server
