// SPDX-License-Identifier: Apache-2.0
// The document of a workload.
#include <array>

#include "policy/facts.h"
#include "policy/facts/json_reader.h"

namespace assay::policy {
namespace {

using reading::check_members;
using reading::Reader;
using reading::text_of;
using reading::violation;

constexpr std::array<std::string_view, 3> kKinds = {"scratch", "config", "model"};

Json to_json(const Mount& mount) {
  Json json = {{"container", mount.container}, {"path", mount.path},
               {"volume", mount.volume},       {"source", mount.source},
               {"location", mount.location},   {"kind", name(mount.kind)},
               {"read_only", mount.read_only}, {"read_only_below", mount.read_only_below},
               {"device", mount.device}};
  if (mount.part != "") {
    json["part"] = mount.part ? Json(*mount.part) : Json(nullptr);
  }
  if (!mount.volume_location.empty()) {
    json["volume_location"] = mount.volume_location;
  }
  return json;
}

Json to_json(const ContainerImage& image) {
  Json json = {{"container", image.container},
               {"image", image.image},
               {"init", image.init},
               {"remounts", image.remounts}};
  for (const auto& [member, digest] :
       {std::pair{"command", &image.command}, std::pair{"args", &image.args}}) {
    if (*digest) {
      json[member] = (*digest)->text();
    }
  }
  return json;
}

template <typename Item>
Json list_to_json(const std::vector<Item>& items) {
  Json list = Json::array();
  for (const Item& item : items) {
    list.push_back(to_json(item));
  }
  return list;
}

Result<VolumeKind> volume_kind_from(std::string_view text) {
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (kKinds.at(i) == text) {
      return static_cast<VolumeKind>(i);
    }
  }
  return fail(ErrorCode::kSchemaViolation, "this must be scratch, config or model");
}

Result<Mount> mount_from_json(const Json& json, const std::string& where) {
  ASSAY_TRY(check_members(json, where,
                          {"container", "path", "volume", "source", "location", "kind", "read_only",
                           "read_only_below", "device"},
                          {"part", "volume_location"}));
  const Reader in{json, where};
  Mount mount;
  ASSAY_ASSIGN(mount.container, in.text("container"));
  ASSAY_ASSIGN(mount.path, in.text("path"));
  ASSAY_ASSIGN(mount.volume, in.text("volume"));
  ASSAY_ASSIGN(mount.source, in.text("source"));
  ASSAY_ASSIGN(mount.location, in.text("location"));
  ASSAY_ASSIGN(mount.kind, in.parsed("kind", volume_kind_from));
  ASSAY_ASSIGN(mount.read_only, in.flag("read_only"));
  ASSAY_ASSIGN(mount.read_only_below, in.flag("read_only_below"));
  if (mount.read_only_below && !mount.read_only) {
    return violation("this is true only where read_only is", in.place("read_only_below"));
  }
  ASSAY_ASSIGN(mount.device, in.flag("device"));
  if (json.contains("part")) {
    mount.part.reset();
    if (!json["part"].is_null()) {
      ASSAY_ASSIGN(mount.part, in.text("part"));
    }
  }
  if (json.contains("volume_location")) {
    ASSAY_ASSIGN(mount.volume_location, in.text("volume_location"));
  }
  return mount;
}

Result<ContainerImage> image_from_json(const Json& json, const std::string& where) {
  ASSAY_TRY(
      check_members(json, where, {"container", "image", "init", "remounts"}, {"command", "args"}));
  const Reader in{json, where};
  ContainerImage image;
  ASSAY_ASSIGN(image.container, in.text("container"));
  ASSAY_ASSIGN(image.image, in.text("image"));
  ASSAY_ASSIGN(image.init, in.flag("init"));
  ASSAY_ASSIGN(image.remounts, in.flag("remounts"));
  ASSAY_ASSIGN(image.command, in.parsed_if_there("command", Digest::parse));
  ASSAY_ASSIGN(image.args, in.parsed_if_there("args", Digest::parse));
  return image;
}

Json to_json(const Requester& requester) {
  Json json = Json::object();
  for (const auto& [name, value] : {std::pair{"user", &requester.user},
                                    std::pair{"service_account", &requester.service_account},
                                    std::pair{"principal", &requester.principal}}) {
    if (*value) {
      json[name] = **value;
    }
  }
  if (requester.groups) {
    json["groups"] = *requester.groups;
  }
  return json;
}

Result<Requester> requester_from_json(const Json& json, const std::string& where) {
  ASSAY_TRY(check_members(json, where, {}, {"user", "groups", "service_account", "principal"}));
  const Reader in{json, where};
  Requester requester;
  for (const auto& [name, value] : {std::pair{"user", &requester.user},
                                    std::pair{"service_account", &requester.service_account},
                                    std::pair{"principal", &requester.principal}}) {
    if (json.contains(name)) {
      ASSAY_ASSIGN(*value, in.text(name));
    }
  }
  if (json.contains("groups")) {
    ASSAY_ASSIGN(requester.groups, in.list<std::string>("groups", text_of));
  }
  return requester;
}

Status pod_from_json(const Json& json, const std::string& where, Workload& workload) {
  ASSAY_TRY(check_members(json, where, {"mounts", "images"}));
  const Reader in{json, where};
  workload.pod = true;
  ASSAY_ASSIGN(workload.mounts, in.list<Mount>("mounts", mount_from_json));
  ASSAY_ASSIGN(workload.images, in.list<ContainerImage>("images", image_from_json));
  return {};
}

}  // namespace

std::string_view name(VolumeKind kind) { return kKinds.at(static_cast<std::size_t>(kind)); }

Json to_json(const Workload& workload) {
  Json json = {{"namespace", workload.name_space},
               {"labels", workload.labels},
               {"resources", workload.resources}};
  if (!workload.node.empty()) {
    json["node"] = workload.node;
  }
  if (!workload.accelerators.empty()) {
    json["accelerators"] = workload.accelerators;
  }
  if (workload.pod) {
    json["pod"] = {{"mounts", list_to_json(workload.mounts)},
                   {"images", list_to_json(workload.images)}};
  }
  if (workload.requester != Requester{}) {
    json["requester"] = to_json(workload.requester);
  }
  return json;
}

Result<Workload> workload_from_json(const Json& json) {
  const std::string top;
  ASSAY_TRY(check_members(json, top, {"namespace", "labels", "resources"},
                          {"node", "accelerators", "pod", "requester"}));
  const Reader in{json, top};
  Workload workload;
  ASSAY_ASSIGN(workload.name_space, in.text("namespace"));
  ASSAY_ASSIGN(workload.resources, in.list<std::string>("resources", text_of));
  if (!json["labels"].is_object()) {
    return violation("this must be an object", in.place("labels"));
  }
  for (const auto& [label, value] : json["labels"].items()) {
    ASSAY_ASSIGN(workload.labels[label], text_of(value, in.place("labels")));
  }
  if (json.contains("node")) {
    ASSAY_ASSIGN(workload.node, in.text("node"));
  }
  if (json.contains("accelerators")) {
    ASSAY_ASSIGN(workload.accelerators, in.list<std::string>("accelerators", text_of));
  }
  if (json.contains("pod")) {
    ASSAY_TRY(pod_from_json(json["pod"], "/pod", workload));
  }
  if (json.contains("requester")) {
    ASSAY_ASSIGN(workload.requester, requester_from_json(json["requester"], "/requester"));
  }
  return workload;
}

}  // namespace assay::policy
