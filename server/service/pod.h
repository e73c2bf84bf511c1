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
// DaemonSet, Job or CronJob.
struct PodView {
  std::string pointer;  // JSON pointer of the object that has `metadata` and `spec`; "" for a Pod
  Json metadata;        // object; empty when absent
  Json spec;            // object; empty when absent
};

// Nothing for a kind that runs no pods.
[[nodiscard]] std::optional<PodView> pod_of(std::string_view kind, const Json& object);

// Annotation `name`, or empty.
[[nodiscard]] std::string annotation(const PodView& pod, std::string_view name);

// Namespace as given; labels of the pod; names of every resource that a container of any sort asks
// for with a quantity that is not zero, and "resource-claims" when the pod has resource claims
// (dynamic resource allocation), so that policies can select on either.
[[nodiscard]] policy::Workload workload_of(const PodView& pod, std::string name_space);

// Locations (schemas/location.h) of volumes, images and storage URIs, without duplicates. What has
// no valid spelling is left out: it maps to no model.
[[nodiscard]] std::vector<std::string> places_of(const PodView& pod, const std::string& name_space);

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
