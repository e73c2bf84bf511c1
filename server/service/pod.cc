// SPDX-License-Identifier: Apache-2.0
#include "server/service/pod.h"

#include <algorithm>
#include <set>

#include "schemas/location.h"

namespace assay::server {
namespace {

// Member `name` of `json` when both are objects; an empty object otherwise.
const Json& object_at(const Json& json, std::string_view name) {
  static const Json empty = Json::object();
  if (!json.is_object()) {
    return empty;
  }
  const auto found = json.find(name);
  return found != json.end() && found->is_object() ? *found : empty;
}

const Json& array_at(const Json& json, std::string_view name) {
  static const Json empty = Json::array();
  if (!json.is_object()) {
    return empty;
  }
  const auto found = json.find(name);
  return found != json.end() && found->is_array() ? *found : empty;
}

std::string text_at(const Json& json, std::string_view name) {
  if (!json.is_object()) {
    return {};
  }
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

constexpr std::string_view kContainerLists[] = {"containers", "initContainers",
                                                "ephemeralContainers"};

template <typename Visit>
void for_each_container(const PodView& pod, Visit visit) {
  for (const std::string_view list : kContainerLists) {
    for (const Json& container : array_at(pod.spec, list)) {
      visit(container);
    }
  }
}

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

class Places {
 public:
  void add(const std::string& uri) {
    if (const auto spelled = normalise_location(uri)) {
      if (std::find(list_.begin(), list_.end(), *spelled) == list_.end()) {
        list_.push_back(*spelled);
      }
    }
  }
  [[nodiscard]] std::vector<std::string> take() { return std::move(list_); }

 private:
  std::vector<std::string> list_;
};

// Names of the volume attributes under which CSI drivers keep the URI of a model.
constexpr std::string_view kCsiUriAttributes[] = {"modelUri", "storageUri", "uri"};

// The URI of a volume's source; empty for sources that hold no model (secrets, empty directories).
std::string volume_uri(const Json& volume, const std::string& name_space) {
  if (const std::string claim = text_at(object_at(volume, "persistentVolumeClaim"), "claimName");
      !claim.empty()) {
    return "pvc://" + name_space + "/" + claim;
  }
  if (const std::string path = text_at(object_at(volume, "hostPath"), "path"); !path.empty()) {
    return "hostpath://" + path;
  }
  if (const std::string image = text_at(object_at(volume, "image"), "reference"); !image.empty()) {
    return "oci://" + image;
  }
  const Json& nfs = object_at(volume, "nfs");
  if (const std::string host = text_at(nfs, "server"); !host.empty()) {
    return "nfs://" + host + text_at(nfs, "path");
  }
  const Json& csi = object_at(volume, "csi");
  const std::string driver = text_at(csi, "driver");
  for (const std::string_view attribute : kCsiUriAttributes) {
    const std::string uri = text_at(object_at(csi, "volumeAttributes"), attribute);
    if (!driver.empty() && !uri.empty()) {
      return uri;
    }
  }
  return {};
}

void add_mounts(const Json& container, const std::string& volume, const std::string& uri,
                Places& places) {
  for (const Json& mount : array_at(container, "volumeMounts")) {
    const std::string sub_path = text_at(mount, "subPath");
    if (text_at(mount, "name") == volume && !sub_path.empty()) {
      places.add(uri + "/" + sub_path);
    }
  }
}

// Environment variables by which serving runtimes are told where the model is.
constexpr std::string_view kUriVariables[] = {"STORAGE_URI", "MODEL_URI"};

void add_container(const Json& container, Places& places) {
  if (const std::string image = text_at(container, "image"); !image.empty()) {
    places.add("oci://" + image);
  }
  for (const Json& variable : array_at(container, "env")) {
    const std::string name = text_at(variable, "name");
    if (std::find(std::begin(kUriVariables), std::end(kUriVariables), name) !=
        std::end(kUriVariables)) {
      places.add(text_at(variable, "value"));
    }
  }
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
  static const std::set<std::string_view> with_template = {"Deployment", "ReplicaSet",
                                                           "StatefulSet", "DaemonSet", "Job"};
  if (with_template.contains(kind)) {
    const Json& pod = object_at(object_at(object, "spec"), "template");
    return PodView{"/spec/template", object_at(pod, "metadata"), object_at(pod, "spec")};
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

policy::Workload workload_of(const PodView& pod, std::string name_space) {
  policy::Workload workload;
  workload.name_space = std::move(name_space);
  for (const auto& [key, value] : object_at(pod.metadata, "labels").items()) {
    if (value.is_string()) {
      workload.labels[key] = value.get<std::string>();
    }
  }
  std::set<std::string> names;
  add_resources(pod.spec, names);
  for_each_container(pod, [&](const Json& container) { add_resources(container, names); });
  if (!array_at(pod.spec, "resourceClaims").empty()) {
    names.insert("resource-claims");
  }
  workload.resources.assign(names.begin(), names.end());
  return workload;
}

std::vector<std::string> places_of(const PodView& pod, const std::string& name_space) {
  Places places;
  for (const Json& volume : array_at(pod.spec, "volumes")) {
    const std::string uri = volume_uri(volume, name_space);
    if (uri.empty()) {
      continue;
    }
    places.add(uri);
    const std::string name = text_at(volume, "name");
    for_each_container(pod,
                       [&](const Json& container) { add_mounts(container, name, uri, places); });
  }
  for_each_container(pod, [&](const Json& container) { add_container(container, places); });
  return places.take();
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
