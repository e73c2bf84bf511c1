// SPDX-License-Identifier: Apache-2.0
#include "server/service/kubernetes/pod.h"

#include <algorithm>
#include <set>

#include "policy/filler.h"
#include "schemas/core/json_at.h"
#include "server/service/kubernetes/accelerators.h"
#include "server/service/kubernetes/pod_volumes.h"
#include "server/service/kubernetes/runtime_annotations.h"

namespace assay::server {
namespace {

// A quantity is zero only when it says so in digits: anything unreadable counts as asked for.
bool is_zero(const Json& quantity) {
  if (quantity.is_number()) {
    return quantity.get<double>() == 0;
  }
  return quantity.is_string() && !quantity.get_ref<const std::string&>().empty() &&
         quantity.get_ref<const std::string&>().find_first_not_of("0.") == std::string::npos;
}

void add_resources(const Json& holder, std::set<std::string>& names) {
  const Json& resources = object_at(holder, "resources");
  for (const char* kind : {"requests", "limits"}) {
    for (const auto& [name, quantity] : object_at(resources, kind).items()) {
      if (!is_zero(quantity)) {
        names.insert(name);
      }
    }
  }
}

// Names that are asked for and images: what an API server does not bound.
Status check_size(const std::set<std::string>& resources,
                  const std::vector<policy::ContainerImage>& images) {
  if (resources.size() > kMaxPodResources) {
    return fail(ErrorCode::kLimitExceeded, "the pod asks for too many resources");
  }
  std::size_t bytes = 0;
  for (const std::string& name : resources) {
    bytes += name.size();
  }
  for (const policy::ContainerImage& one : images) {
    bytes += one.image.size();
  }
  return bytes <= kMaxPodNameBytes
             ? Status()
             : fail(ErrorCode::kLimitExceeded, "names of resources and images are too long");
}

// Whether the texts that `metadata` has under `member` are within the limits.
bool is_within(const Json& metadata, const char* member, std::size_t most, std::size_t bytes) {
  const Json& texts = object_at(metadata, member);
  std::size_t sum = 0;
  if (texts.size() > most) {
    return false;
  }
  for (const auto& [name, value] : texts.items()) {
    sum += name.size() + (value.is_string() ? value.get_ref<const std::string&>().size() : 0);
  }
  return sum <= bytes;
}

// An update that changes neither the spec nor the annotations does not come here: who removes a
// finalizer from a pod that is there may do so, however many labels the pod has.
Status check_metadata(const Json& metadata) {
  if (!is_within(metadata, "labels", kMaxPodLabels, kMaxPodLabelBytes)) {
    return fail(ErrorCode::kLimitExceeded, "the pod has more than 256 labels or 64 KiB of them");
  }
  if (!is_within(metadata, "annotations", kMaxPodAnnotations, kMaxPodAnnotationBytes)) {
    return fail(ErrorCode::kLimitExceeded,
                "the pod has more than 1024 annotations or 256 KiB of them");
  }
  return {};
}

// A sidecar stands among the init containers and runs beside the others: what it puts into a volume
// may change after the volume was read.
// So may what a container with rules of its own for restarts puts there.
bool goes_on(const Json& container) {
  const Json& policy = member_at(container, "restartPolicy");
  const Json& rules = member_at(container, "restartPolicyRules");
  return !(policy.is_null() || policy == "Never" || policy == "OnFailure") ||
         !(rules.is_null() || rules.empty());
}

// Whether a container that ends may have all of the pod started again, also those that had finished
// (action RestartAllContainers). An action that is not known here may do the same.
bool restarts_others(const Json& container) {
  const Json& rules = member_at(container, "restartPolicyRules");
  if (!rules.is_array()) {
    return !rules.is_null();
  }
  return std::ranges::any_of(rules,
                             [](const Json& rule) { return text_at(rule, "action") != "Restart"; });
}

bool has_restart_of_all(const Json& spec) {
  return std::ranges::any_of(kContainerLists, [&](std::string_view list) {
    return std::ranges::any_of(array_at(spec, list), restarts_others);
  });
}

// The digest of a list of words that a container has; as in Kubernetes, an absent list is an empty
// one. nullopt when it is no such list: it then equals none.
std::optional<Digest> run_list_of(const Json& container, std::string_view member) {
  const Json& list = member_at(container, member);
  std::vector<std::string> words;
  if (!list.is_array() && !list.is_null()) {
    return std::nullopt;
  }
  for (const Json& word : list) {
    if (!word.is_string()) {
      return std::nullopt;
    }
    words.push_back(word.get<std::string>());
  }
  return policy::run_list_digest(words);
}

policy::ContainerImage image_of(const Json& container, bool init, bool remounts) {
  policy::ContainerImage image{.container = text_at(container, "name"),
                               .image = text_at(container, "image"),
                               .init = init,
                               .remounts = remounts};
  if (init) {
    image.command = run_list_of(container, "command");
    image.args = run_list_of(container, "args");
  }
  return image;
}

// The controller gives each pod claims of its own: volumes named like the templates, claims named
// TEMPLATE-SET-ORDINAL. They go behind the volumes of the template, and take the place of one with
// the same name.
void add_claims_of_first_pod(const Json& set, Json& spec) {
  const Json& wanted = object_at(set, "spec");
  const Json& start = member_at(object_at(wanted, "ordinals"), "start");
  const std::string ordinal = start.is_number_integer() ? start.dump() : "0";
  Json volumes = Json::array();
  std::set<std::string> names;
  for (const Json& claim : array_at(wanted, "volumeClaimTemplates")) {
    const std::string name = metadata_text(claim, "name");
    if (names.insert(name).second) {
      const std::string claim_name = name + "-" + metadata_text(set, "name") + "-" + ordinal;
      volumes.push_back({{"name", name}, {"persistentVolumeClaim", {{"claimName", claim_name}}}});
    }
  }
  if (volumes.empty()) {
    return;
  }
  Json kept = Json::array();
  for (const Json& volume : array_at(spec, "volumes")) {
    if (!names.contains(text_at(volume, "name"))) {
      kept.push_back(volume);
    }
  }
  kept.insert(kept.end(), volumes.begin(), volumes.end());
  spec["volumes"] = std::move(kept);
}

constexpr const char* kRequired = "requiredDuringSchedulingIgnoredDuringExecution";

// A term without expressions selects no node. With one of ours it would select some, and take the
// place of the pod's other terms.
bool selects_something(const Json& term) {
  return !array_at(term, "matchExpressions").empty() || !array_at(term, "matchFields").empty();
}

void require_labels(Json& term, const std::map<std::string, std::vector<std::string>>& labels) {
  Json expressions = array_at(term, "matchExpressions");
  for (const auto& [label, values] : labels) {
    const Json wanted = {{"key", label}, {"operator", "In"}, {"values", values}};
    if (std::find(expressions.begin(), expressions.end(), wanted) == expressions.end()) {
      expressions.push_back(wanted);
    }
  }
  term["matchExpressions"] = std::move(expressions);
}

}  // namespace

std::optional<PodView> pod_of(std::string_view kind, const Json& object) {
  if (kind == "Pod") {
    return PodView{"", object_at(object, "metadata"), object_at(object, "spec")};
  }
  static const std::set<std::string_view> with_template = {
      "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "ReplicationController"};
  if (with_template.contains(kind)) {
    const Json& pod = object_at(object_at(object, "spec"), "template");
    PodView view{"/spec/template", object_at(pod, "metadata"), object_at(pod, "spec")};
    if (kind == "StatefulSet") {
      add_claims_of_first_pod(object, view.spec);
    }
    return view;
  }
  if (kind == "CronJob") {
    const Json& job = object_at(object_at(object, "spec"), "jobTemplate");
    const Json& pod = object_at(object_at(job, "spec"), "template");
    return PodView{"/spec/jobTemplate/spec/template", object_at(pod, "metadata"),
                   object_at(pod, "spec")};
  }
  return std::nullopt;
}

std::string annotation(const PodView& pod, std::string_view name) {
  return text_at(object_at(pod.metadata, "annotations"), name);
}

std::map<std::string, std::string> labels_of(const PodView& pod) {
  std::map<std::string, std::string> labels;
  for (const auto& [key, value] : object_at(pod.metadata, "labels").items()) {
    if (value.is_string()) {
      labels.emplace(key, value.get<std::string>());
    }
  }
  return labels;
}

Result<policy::Workload> workload_of(const PodView& pod, std::string name_space) {
  ASSAY_TRY(check_metadata(pod.metadata));
  ASSAY_ASSIGN(PodMounts mounts, read_mounts(pod, name_space));
  policy::Workload workload;
  workload.name_space = std::move(name_space);
  workload.labels = labels_of(pod);
  workload.pod = true;
  std::set<std::string> resources;
  add_resources(pod.spec, resources);
  const bool all_mount_again = may_mount_again(pod);
  const bool all_run_again = has_restart_of_all(pod.spec);
  for (const std::string_view list : kContainerLists) {
    for (const Json& container : array_at(pod.spec, list)) {
      add_resources(container, resources);
      workload.images.push_back(
          image_of(container, list == kInitContainers && !all_run_again && !goes_on(container),
                   all_mount_again || may_mount_again(container)));
    }
  }
  ASSAY_TRY(check_size(resources, workload.images));
  workload.resources.assign(resources.begin(), resources.end());
  workload.accelerators = accelerators_of(pod, resources, mounts);
  workload.mounts = std::move(mounts.mounts);
  add_to(workload, runtime_annotations(pod));
  return workload;
}

std::string node_of(const PodView& pod) { return text_at(pod.spec, "nodeName"); }

std::string metadata_text(const Json& object, std::string_view member) {
  return text_at(object_at(object, "metadata"), member);
}

std::optional<BindingView> binding_of(const Json& object) {
  const Json& target = object_at(object, "target");
  const std::string kind = text_at(target, "kind");
  BindingView binding{metadata_text(object, "name"), metadata_text(object, "uid"),
                      text_at(target, "name")};
  if (binding.name.empty() || binding.node.empty() || !(kind.empty() || kind == "Node")) {
    return std::nullopt;
  }
  return binding;
}

Json with_node_affinity(const PodView& pod,
                        const std::map<std::string, std::vector<std::string>>& labels) {
  Json affinity = object_at(pod.spec, "affinity");
  if (labels.empty()) {
    return affinity;
  }
  Json node = object_at(affinity, "nodeAffinity");
  Json required = object_at(node, kRequired);
  Json terms = array_at(required, "nodeSelectorTerms");
  if (terms.empty()) {
    terms.push_back(Json::object());
    require_labels(terms.front(), labels);
  } else {
    for (Json& term : terms) {
      if (selects_something(term)) {
        require_labels(term, labels);
      }
    }
  }
  required["nodeSelectorTerms"] = std::move(terms);
  node[kRequired] = std::move(required);
  affinity["nodeAffinity"] = std::move(node);
  return affinity;
}

}  // namespace assay::server
