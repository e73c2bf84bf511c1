// SPDX-License-Identifier: Apache-2.0
#include "server/service/kubernetes/review_patch.h"

#include <set>

#include "policy/pinning.h"
#include "schemas/image_name.h"
#include "server/service/facts/artifact_facts.h"
#include "server/service/kubernetes/admission.h"
#include "server/service/kubernetes/review.h"
#include "server/service/references/resolve.h"

namespace assay::server {
namespace {

constexpr std::string_view kImageScheme = "oci://";

std::string escaped_pointer(std::string_view name) {
  std::string text;
  for (const char c : name) {
    text += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  }
  return text;
}

Json operation(const char* op, const std::string& path) { return {{"op", op}, {"path", path}}; }

Json operation(const char* op, const std::string& path, Json value) {
  return {{"op", op}, {"path", path}, {"value", std::move(value)}};
}

// Our annotations as they shall be, by name.
std::map<std::string, std::string> wanted_annotations(const PodView& pod,
                                                      const Decision* decision) {
  std::map<std::string, std::string> wanted;
  if (const std::string model = annotation(pod, kModelAnnotation); !model.empty()) {
    wanted[std::string(kModelAnnotation)] = model;
  }
  if (decision != nullptr) {
    wanted[std::string(kDecisionAnnotation)] = decision->id;
    if (!decision->models.empty()) {
      wanted[std::string(kModelAnnotation)] = reference_to(decision->models);
    }
  }
  return wanted;
}

// "registry/name@sha256:..." of an image location, without the path inside of it.
std::optional<ImageName> image_of(std::string_view location) {
  if (!location.starts_with(kImageScheme)) {
    return std::nullopt;
  }
  location.remove_prefix(kImageScheme.size());
  const std::size_t at = location.find('@');
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  auto image = parse_image_name(location.substr(0, location.find('/', at)));
  return image ? std::optional(std::move(*image)) : std::nullopt;
}

// Digests of the models' images, by repository.
Result<std::map<std::string, std::set<std::string>>> digests_of(
    Services& services, storage::Snapshot& snapshot, const std::vector<DecidedModel>& models,
    const policy::Workload& workload, Timestamp now) {
  ASSAY_ASSIGN(const auto policies, policies_in_force(services, snapshot));
  std::map<std::string, std::set<std::string>> digests;
  for (const DecidedModel& model : models) {
    ASSAY_ASSIGN(const auto known, artifact_facts(services, snapshot, model.artifact));
    policy::Facts facts = known->facts;
    facts.name = model.name;
    for (const std::string& location : policy::locations_for_all(*policies, workload, facts, now)) {
      if (const auto image = image_of(location)) {
        digests[image->repository].insert(image->digest);
      }
    }
  }
  return digests;
}

// The image of a volume that has one without digest.
std::optional<ImageName> unpinned_image(const Json& volume) {
  const auto image = parse_image_name(text_at(member_at(volume, "image"), "reference"));
  return image && image->digest.empty() ? std::optional(*image) : std::nullopt;
}

}  // namespace

Json annotation_patch(const PodView& pod, const Decision* decision) {
  const std::map<std::string, std::string> wanted = wanted_annotations(pod, decision);
  Json patch = Json::array();
  const Json& present = member_at(pod.metadata, "annotations");
  const std::string path = pod.pointer + "/metadata/annotations";
  if (!present.is_object() && !wanted.empty()) {
    if (pod.metadata.empty()) {
      patch.push_back(operation("add", pod.pointer + "/metadata", Json::object()));
    }
    patch.push_back(operation("add", path, Json::object()));
  }
  if (present.is_object()) {
    for (const auto& [name, value] : present.items()) {
      if (name.starts_with(kAnnotationPrefix) && !wanted.contains(name)) {
        patch.push_back(operation("remove", path + "/" + escaped_pointer(name)));
      }
    }
  }
  for (const auto& [name, value] : wanted) {
    if (member_at(present, name) != value) {
      patch.push_back(operation("add", path + "/" + escaped_pointer(name), value));
    }
  }
  return patch;
}

Json affinity_patch(const PodView& pod,
                    const std::map<std::string, std::vector<std::string>>& labels) {
  Json patch = Json::array();
  if (labels.empty()) {
    return patch;
  }
  Json affinity = with_node_affinity(pod, labels);
  if (member_at(pod.spec, "affinity") != affinity) {
    patch.push_back(operation("add", pod.pointer + "/spec/affinity", std::move(affinity)));
  }
  return patch;
}

bool has_unpinned_image(const PodView& pod) {
  for (const Json& volume : member_at(pod.spec, "volumes")) {
    if (unpinned_image(volume)) {
      return true;
    }
  }
  return false;
}

Result<Json> image_patch(Services& services, storage::Snapshot& snapshot,
                         const std::vector<DecidedModel>& models, const policy::Workload& workload,
                         Timestamp now, PodView& pod) {
  ASSAY_ASSIGN(const auto digests, digests_of(services, snapshot, models, workload, now));
  Json patch = Json::array();
  if (!member_at(pod.spec, "volumes").is_array()) {
    return patch;
  }
  Json& volumes = pod.spec["volumes"];
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    const auto image = unpinned_image(volumes[i]);
    const auto found = image ? digests.find(image->repository) : digests.end();
    if (found == digests.end() || found->second.size() != 1) {
      continue;
    }
    Json& reference = volumes[i]["image"]["reference"];
    reference = reference.get<std::string>() + "@" + *found->second.begin();
    patch.push_back(operation(
        "replace", pod.pointer + "/spec/volumes/" + std::to_string(i) + "/image/reference",
        reference));
  }
  return patch;
}

}  // namespace assay::server
