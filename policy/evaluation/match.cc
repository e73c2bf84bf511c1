// SPDX-License-Identifier: Apache-2.0
// Which workloads a policy is about.
#include <algorithm>
#include <array>
#include <string_view>

#include "policy/accelerator.h"
#include "policy/evaluate.h"
#include "policy/glob.h"

namespace assay::policy {
namespace {

constexpr std::string_view kResourceWay = "resource:";
constexpr std::string_view kRuntimeClassWay = "runtime-class:";
constexpr std::array<std::string_view, 4> kPlainResources = {"cpu", "memory", "ephemeral-storage",
                                                             "storage"};

bool covers(const WorkloadMatch& match, const std::string& name_space) {
  return (match.namespaces.empty() || any_glob_matches(match.namespaces, name_space)) &&
         !any_glob_matches(match.exclude_namespaces, name_space);
}

bool has_labels(const WorkloadMatch& match, const Workload& workload) {
  return std::all_of(match.labels.begin(), match.labels.end(), [&](const auto& label) {
    const auto it = workload.labels.find(label.first);
    return it != workload.labels.end() && it->second == label.second;
  });
}

bool asks_for_resource(const WorkloadMatch& match, const Workload& workload) {
  return match.resources.empty() ||
         std::any_of(workload.resources.begin(), workload.resources.end(),
                     [&](const auto& name) { return asks_for(match, name); });
}

// Resources are looked at by themselves, too: who asks without a pod lists nothing else.
bool reaches_accelerator(const WorkloadMatch& match, const Workload& workload) {
  return !match.accelerators ||
         std::any_of(workload.accelerators.begin(), workload.accelerators.end(),
                     [&](const auto& way) { return !is_harmless(match, way); }) ||
         std::any_of(workload.resources.begin(), workload.resources.end(),
                     [&](const auto& name) { return is_accelerator(match, name); });
}

// Before a node is known nobody can say. Once there should be one, a workload that names none may
// go to any.
bool goes_to_node(const WorkloadMatch& match, const Workload& workload, DecisionPoint point) {
  if (match.nodes.empty()) {
    return true;
  }
  return workload.node.empty() ? point != DecisionPoint::kCreate
                               : any_glob_matches(match.nodes, workload.node);
}

}  // namespace

bool is_extended_resource(std::string_view name) {
  return std::find(kPlainResources.begin(), kPlainResources.end(), name) == kPlainResources.end() &&
         !name.starts_with("hugepages-");
}

bool asks_for(const WorkloadMatch& match, std::string_view resource) {
  return any_glob_matches(match.resources, resource);
}

bool is_accelerator(const WorkloadMatch& match, std::string_view resource) {
  return is_extended_resource(resource) && !any_glob_matches(match.harmless_resources, resource);
}

// A policy can only call harmless what is named in the open: resources and runtime classes.
bool is_harmless(const WorkloadMatch& match, std::string_view way) {
  if (way.starts_with(kResourceWay)) {
    return any_glob_matches(match.harmless_resources, way.substr(kResourceWay.size()));
  }
  return way.starts_with(kRuntimeClassWay) && any_glob_matches(match.harmless_resources, way);
}

bool matches(const WorkloadMatch& match, const Workload& workload, DecisionPoint point) {
  return covers(match, workload.name_space) && has_labels(match, workload) &&
         asks_for_resource(match, workload) && reaches_accelerator(match, workload) &&
         goes_to_node(match, workload, point);
}

bool selected(std::span<const ActivePolicy> policies, const Workload& workload,
              DecisionPoint point) {
  return std::any_of(policies.begin(), policies.end(), [&](const ActivePolicy& policy) {
    return policy.document.mode != PolicyMode::kShadow &&
           matches(policy.document.match, workload, point);
  });
}

bool may_enforce(std::span<const ActivePolicy> policies, const std::string& name_space) {
  return std::any_of(policies.begin(), policies.end(), [&](const ActivePolicy& policy) {
    return policy.document.mode == PolicyMode::kEnforce &&
           covers(policy.document.match, name_space);
  });
}

}  // namespace assay::policy
