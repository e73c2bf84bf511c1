// SPDX-License-Identifier: Apache-2.0
// What Assay reads of a Kubernetes object that runs pods: which model it names, where its volumes
// come from, what policies match on, and which node it goes to. Pure functions over JSON from
// outside: nothing here trusts a type.
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
// DaemonSet, Job, CronJob or ReplicationController. That of a StatefulSet has the claims that its
// first pod will have.
struct PodView {
  std::string pointer;  // JSON pointer of the object that has `metadata` and `spec`; "" for a Pod
  Json metadata;        // object; empty when absent
  Json spec;            // object; empty when absent
};

// The members of a pod's spec that list containers.
// What has more is refused, not cut.
inline constexpr std::size_t kMaxPodResources = 256;        // that differ in their name
inline constexpr std::size_t kMaxPodNameBytes = 64U << 10;  // of their names, and of all images
inline constexpr std::string_view kInitContainers = "initContainers";
inline constexpr std::string_view kContainerLists[] = {"containers", kInitContainers,
                                                       "ephemeralContainers"};

// Nothing for a kind that runs no pods.
[[nodiscard]] std::optional<PodView> pod_of(std::string_view kind, const Json& object);

// Annotation `name`, or empty.
[[nodiscard]] std::string annotation(const PodView& pod, std::string_view name);

[[nodiscard]] std::map<std::string, std::string> labels_of(const PodView& pod);

// Namespace as given; labels of the pod; names of every resource that a container of any sort asks
// for with a quantity that is not zero; ways to accelerators (accelerators.h); what the containers
// mount (pod_volumes.h) and their images. Volumes that no container mounts do not count, nor do
// variables and annotations that name places. malformed-admission-review for what no API server
// takes, limit-exceeded for more containers, volumes or mounts than any honest pod has.
[[nodiscard]] Result<policy::Workload> workload_of(const PodView& pod, std::string name_space);

// Name of the node that the pod is bound to; empty when it is not.
[[nodiscard]] std::string node_of(const PodView& pod);

// `metadata` of any object: one of its texts, or empty.
[[nodiscard]] std::string metadata_text(const Json& object, std::string_view member);

// What a Binding says: which pod shall go to which node.
struct BindingView {
  std::string name;  // of the pod
  std::string uid;   // of the pod; empty when the binding does not say
  std::string node;
};
// Nothing when the target is something else than a node, or a name is missing.
[[nodiscard]] std::optional<BindingView> binding_of(const Json& object);

// The pod's spec.affinity with `labels` required of its node: every term of the node affinity that
// selects anything gets an expression for each label, since one term is enough to select a node.
// Returns what was there when nothing is missing.
[[nodiscard]] Json with_node_affinity(
    const PodView& pod, const std::map<std::string, std::vector<std::string>>& labels);

}  // namespace assay::server
