// SPDX-License-Identifier: Apache-2.0
// The document of a workload.
#include <array>

#include "policy/facts.h"
#include "schemas/core/json_object.h"

namespace assay::policy {
namespace {

constexpr std::array<std::string_view, 3> kKinds = {"scratch", "config", "model"};

Result<VolumeKind> volume_kind_from(std::string_view text) {
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (kKinds.at(i) == text) {
      return static_cast<VolumeKind>(i);
    }
  }
  return fail(ErrorCode::kSchemaViolation, "this must be scratch, config or model");
}

Result<std::optional<std::string>> part_from(const Json& json) {
  return json.is_null() ? Result<std::optional<std::string>>(std::nullopt)
                        : json::get<std::optional<std::string>>(json);
}

}  // namespace

std::string_view name(VolumeKind kind) { return kKinds.at(static_cast<std::size_t>(kind)); }

static auto members_of(json::As<Mount>) {
  using T = Mount;
  return std::tuple(json::always("container", &T::container), json::always("path", &T::path),
                    json::always("volume", &T::volume), json::always("source", &T::source),
                    json::always("location", &T::location),
                    json::always("kind", &T::kind, json::named(volume_kind_from)),
                    json::always("read_only", &T::read_only),
                    json::always("read_only_below", &T::read_only_below),
                    json::always("device", &T::device),
                    json::unless_default("part", &T::part, json::by(part_from)),
                    json::if_set("volume_location", &T::volume_location));
}
static Status together(const Mount& mount) {
  return mount.read_only || !mount.read_only_below
             ? Status()
             : fail(ErrorCode::kSchemaViolation, "this is true only where read_only is",
                    "/read_only_below");
}

static auto members_of(json::As<ContainerImage>) {
  using T = ContainerImage;
  return std::tuple(json::always("container", &T::container), json::always("image", &T::image),
                    json::always("init", &T::init), json::always("remounts", &T::remounts),
                    json::if_set("command", &T::command), json::if_set("args", &T::args));
}

static auto members_of(json::As<Requester>) {
  using T = Requester;
  return std::tuple(json::if_set("user", &T::user), json::if_set("groups", &T::groups),
                    json::if_set("service_account", &T::service_account),
                    json::if_set("principal", &T::principal));
}

static auto members_of(json::As<Workload>) {
  using T = Workload;
  const auto is_pod = [](const T& workload) { return workload.pod; };
  return std::tuple(json::always("namespace", &T::name_space), json::always("labels", &T::labels),
                    json::always("resources", &T::resources), json::if_set("node", &T::node),
                    json::if_set("accelerators", &T::accelerators),
                    json::group("pod", is_pod,
                                std::tuple(json::always("mounts", &T::mounts),
                                           json::always("images", &T::images))),
                    json::if_set("requester", &T::requester));
}
Json to_json(const Workload& workload) { return json::write(workload); }
Result<Workload> workload_from_json(const Json& json) {
  ASSAY_ASSIGN(Workload workload, json::read<Workload>(json));
  workload.pod = json.contains("pod");
  return workload;
}

}  // namespace assay::policy
