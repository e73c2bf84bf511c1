// SPDX-License-Identifier: Apache-2.0
#include "policy/lint/workloads.h"

#include <algorithm>

#include "policy/evaluate.h"
#include "policy/glob.h"
#include "policy/volumes/mount_path.h"

namespace assay::policy {
namespace {

class Workloads {
 public:
  explicit Workloads(std::vector<Finding>& findings) : findings_(findings) {}

  void match(const WorkloadMatch& match);
  void pods(const PolicyDocument& policy);

 private:
  void warn(std::string text) {
    findings_.push_back(
        {.level = Finding::Level::kWarning, .condition = {}, .text = std::move(text)});
  }
  void never_matches(std::string text, std::string where) {
    findings_.push_back(
        {Finding::Level::kWarning, {}, std::move(text), "never-matches", std::move(where)});
  }
  void note(std::string text) {
    findings_.push_back({.level = Finding::Level::kNote, .condition = {}, .text = std::move(text)});
  }

  void names(const WorkloadMatch& match);
  void no_sets(const std::vector<std::string>& list, const std::string& where);

  std::vector<Finding>& findings_;
};

bool asks_at_serve(const std::vector<Condition>& conditions) {
  return std::any_of(conditions.begin(), conditions.end(), [](const Condition& condition) {
    return point_of(condition) == DecisionPoint::kServe;
  });
}

bool only_stars(const std::string& pattern) {
  return !pattern.empty() && pattern.find_first_not_of('*') == std::string::npos;
}

bool selects_by_name(const WorkloadMatch& match) {
  return !match.labels.empty() || !match.resources.empty();
}

// Whoever writes a pod chooses its labels, and by which of many names it asks for an accelerator.
void Workloads::names(const WorkloadMatch& match) {
  if (!match.labels.empty()) {
    warn("selects by label: whoever creates the workload can leave it off");
  }
  if (!match.resources.empty() && !match.accelerators) {
    warn(
        "selects by resource name: accelerators can be reached in other ways (resource claims, "
        "runtime classes, other names); write \"accelerators\": \"any\"");
  } else if (!match.resources.empty()) {
    warn(
        "resources beside accelerators: a pod that reaches an accelerator in another way is not "
        "selected; leave resources out");
  }
}

void Workloads::match(const WorkloadMatch& match) {
  const bool every_namespace =
      match.namespaces.empty() ||
      std::any_of(match.namespaces.begin(), match.namespaces.end(), only_stars);
  if (every_namespace && !selects_by_name(match) && !match.accelerators && match.nodes.empty()) {
    warn(match.exclude_namespaces.empty()
             ? "matches every workload of every namespace"
             : "matches every workload of every namespace that is not excluded");
  }
  names(match);
  // What a '*' of the one stands for, a '*' of the other takes.
  const auto excluded = [&](const std::string& pattern) {
    return any_glob_matches(match.exclude_namespaces, pattern);
  };
  if (std::any_of(match.exclude_namespaces.begin(), match.exclude_namespaces.end(), only_stars)) {
    never_matches("cannot match: excludes every namespace", "/match/exclude_namespaces");
  } else if (!match.namespaces.empty() &&
             std::all_of(match.namespaces.begin(), match.namespaces.end(), excluded)) {
    never_matches("cannot match: excludes each of its namespaces", "/match/exclude_namespaces");
  }
  if (std::any_of(match.harmless_resources.begin(), match.harmless_resources.end(), only_stars)) {
    warn("calls every resource harmless");
  }
  if (!match.nodes.empty() && (match.accelerators || selects_by_name(match))) {
    warn(
        "nodes beside accelerators, resources or labels: only pods that have both are selected, "
        "and not before bind; write a policy for each");
  } else if (!match.nodes.empty()) {
    note("nodes: selects pods at bind, when it is known where they go, and none at create");
  }
}

// Lists about pods take no sets: there "set:NAME" is the pattern of an image or a volume.
void Workloads::no_sets(const std::vector<std::string>& list, const std::string& where) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (named_set(list[i])) {
      findings_.push_back({Finding::Level::kError,
                           {},
                           "this list takes no reference sets: " + list[i],
                           std::string(info(Reason::kReferenceSetMismatch).code),
                           where + "/" + std::to_string(i)});
    }
  }
}

// What may be mounted and run beside the judged models.
void Workloads::pods(const PolicyDocument& policy) {
  no_sets(policy.images, "/images");
  no_sets(policy.other_volumes, "/other_volumes");
  if (std::any_of(policy.other_volumes.begin(), policy.other_volumes.end(), only_stars)) {
    warn("other_volumes admits every volume: a pod may mount another model beside the judged one");
  }
  if (std::any_of(policy.images.begin(), policy.images.end(), only_stars)) {
    warn("images admits every image");
  }
  for (const std::string& pattern : policy.images) {
    if (!only_stars(pattern) && pattern.find('@') == std::string::npos) {
      note("images by tag: whoever may push to the repository chooses what runs: " + pattern);
    }
  }
  if (policy.images.empty() && policy.mode == PolicyMode::kEnforce) {
    note("no images: any image may run, and an image can hold a model of its own");
  }
  if (policy.mounts == MountRule::kWithin) {
    note("mounts within: a pod may mount any directory inside of a location");
  }
  if (policy.mount_paths.empty() && policy.mode == PolicyMode::kEnforce) {
    note(
        "no mount_paths: a link of the image can lead from another mount to the model's; list a "
        "directory for models alone, such as /models/*");
  }
  for (const std::string& pattern : policy.mount_paths) {
    if (real_path(pattern) != pattern) {
      warn("mount_paths: many images have a link there: " + pattern);
    }
  }
  if (policy.writable_mounts) {
    warn("writable_mounts: containers can change the model after the node has verified it");
  }
  if (!policy.fill_at_run.empty() && !asks_at_serve(policy.require)) {
    warn(
        "fill_at_run without a condition that is decided at serve: nobody looks at what is filled "
        "in");
  }
  for (const Filler& filler : policy.fillers) {
    if (!filler.command) {
      warn("fillers without command: a pod may run another program of the image: " + filler.image);
    } else if (!filler.args) {
      warn("fillers without args: a pod may give the command any: " + filler.image);
    }
  }
}

}  // namespace

void lint_workloads(const PolicyDocument& policy, std::vector<Finding>& findings) {
  Workloads workloads(findings);
  workloads.match(policy.match);
  workloads.pods(policy);
}

}  // namespace assay::policy
