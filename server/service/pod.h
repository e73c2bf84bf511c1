// SPDX-License-Identifier: Apache-2.0
// What Assay reads of a Kubernetes object that runs pods: which model it names, where its volumes
// come from, and what policies match on. Pure functions over JSON from outside: nothing here trusts
// a type.
#pragma once

#include <optional>
#include <string>
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

}  // namespace assay::server
