// SPDX-License-Identifier: Apache-2.0
// Volumes are read once and mounts look them up: the cost is linear in the size of the pod.
#include "server/service/kubernetes/pod_volumes.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "policy/processes.h"
#include "schemas/core/json_at.h"
#include "schemas/location.h"

namespace assay::server {
namespace {

using policy::Mount;
using policy::VolumeKind;

constexpr std::string_view kClaim = "persistentVolumeClaim";
constexpr std::string_view kHostPath = "hostPath";
constexpr std::array<std::string_view, 4> kConfigSources = {"configMap", "secret", "projected",
                                                            "downwardAPI"};
constexpr std::string_view kScratchSource = "emptyDir";
// The kubelet mounts a writable file there, made for the container.
constexpr std::string_view kMessage = "terminationMessagePath";
constexpr std::string_view kUsualMessage = "/dev/termination-log";  // no model is there
constexpr std::size_t kMaxName = 253;   // of volumes and containers, in Kubernetes
constexpr std::size_t kMaxBase = 2048;  // longer ones are no locations (schemas/location.h)

struct Volume {
  std::string source;  // the member that says where it comes from; empty when that is unclear
  VolumeKind kind = VolumeKind::kModel;
  std::string base;     // start of its locations; empty: it has none
  HostExposure host{};  // of a hostPath
  bool read_only = false;
};

using Volumes = std::map<std::string, Volume, std::less<>>;

std::unexpected<Error> malformed(const char* why) {
  return fail(ErrorCode::kMalformedAdmissionReview, why);
}

std::unexpected<Error> too_many(const char* why) { return fail(ErrorCode::kLimitExceeded, why); }

// An absent list is an empty one; anything else that is no list is an error.
Result<const Json*> list_of(const Json& holder, std::string_view name) {
  static const Json none = Json::array();
  const Json& list = member_at(holder, name);
  if (list.is_null()) {
    return &none;
  }
  if (!list.is_array()) {
    return malformed("a list of the pod is of another type");
  }
  return &list;
}

// Anything counts that is not plainly unset.
bool is_set(const Json& holder, std::string_view member) {
  const Json& value = member_at(holder, member);
  return !(value.is_null() || value == false || value == Json(""));
}

bool goes_up(std::string_view path) {
  for (std::size_t start = 0; start <= path.size();) {
    const std::size_t slash = std::min(path.find('/', start), path.size());
    if (path.substr(start, slash - start) == "..") {
      return true;
    }
    start = slash + 1;
  }
  return false;
}

// "" for the root, so that it can start a longer path.
std::string below_root(std::string_view path) {
  std::string clean = lexical_path(path);
  return clean == "/" ? std::string() : clean;
}

bool is_clear(std::string_view path) {
  return path.starts_with('/') && path.size() <= kMaxMountPath && !goes_up(path) &&
         path.find('\\') == std::string_view::npos;
}

// A name with a slash would be read as a name and a path.
bool is_one_part(std::string_view name) {
  return !name.empty() && name.find('/') == std::string_view::npos;
}

// --- sources

std::string claim_base(const Json& source, const std::string& name_space) {
  const std::string claim = text_at(source, "claimName");
  return is_one_part(claim) ? "pvc://" + name_space + "/" + claim : std::string();
}

std::string nfs_base(const Json& source) {
  const std::string host = text_at(source, "server");
  const std::string path = text_at(source, "path");
  return is_one_part(host) && is_clear(path) ? "nfs://" + host + below_root(path) : std::string();
}

// A secret tells the driver where to read as much as an attribute does, and its owner changes it.
// Of a file system that the pod asks for, the location says nothing.
std::string csi_base(const Json& source, const std::string& name_space) {
  if (!member_at(source, "nodePublishSecretRef").is_null() || is_set(source, "fsType")) {
    return {};
  }
  const Json& attributes = member_at(source, "volumeAttributes");
  return csi_location(text_at(source, "driver"), name_space,
                      attributes.is_null() ? Json::object() : attributes)
      .value_or(std::string());
}

std::string base_of(const std::string& member, const Json& source, const std::string& name_space) {
  if (member == kClaim) {
    return claim_base(source, name_space);
  }
  if (member == kHostPath) {
    const std::string path = text_at(source, "path");
    return is_clear(path) ? "hostpath://" + below_root(path) : std::string();
  }
  if (member == "nfs") {
    return nfs_base(source);
  }
  if (member == "csi") {
    return csi_base(source, name_space);
  }
  return member == "image" ? image_location(text_at(source, "reference")).value_or(std::string())
                           : std::string();
}

HostExposure host_of(const std::string& path) {
  return is_clear(path) ? HostExposure{lexical_path(path), true} : HostExposure{"", false};
}

VolumeKind kind_of(const std::string& member) {
  if (member == kScratchSource) {
    return VolumeKind::kScratch;
  }
  return std::find(kConfigSources.begin(), kConfigSources.end(), member) != kConfigSources.end()
             ? VolumeKind::kConfig
             : VolumeKind::kModel;
}

// Exactly one member beside the name says where the volume comes from. Two, none or one of another
// type: it may hold anything, and has no location.
Volume read_volume(const Json& json, const std::string& name_space) {
  Volume volume;
  const Json* source = nullptr;
  for (const auto& [member, value] : json.items()) {
    if (member == "name" || value.is_null()) {
      continue;
    }
    if (source != nullptr || !value.is_object()) {
      return {};
    }
    source = &value;
    volume.source = member.size() <= kMaxName ? member : "unknown";
  }
  if (source == nullptr) {
    return {};
  }
  volume.kind = kind_of(volume.source);
  volume.base = base_of(volume.source, *source, name_space);
  if (volume.base.size() > kMaxBase) {
    volume.base.clear();
  }
  if (volume.source == kHostPath) {
    volume.host = host_of(text_at(*source, "path"));
  }
  volume.read_only = flag_at(*source, "readOnly") || volume.source == "image";
  return volume;
}

Result<Volumes> read_volumes(const PodView& pod, const std::string& name_space) {
  ASSAY_ASSIGN(const Json* list, list_of(pod.spec, "volumes"));
  if (list->size() > kMaxPodVolumes) {
    return too_many("the pod has more than 1024 volumes");
  }
  Volumes volumes;
  for (const Json& item : *list) {
    if (!member_at(item, "name").is_string() ||
        !volumes.emplace(text_at(item, "name"), Volume{}).second) {
      return malformed("volumes are objects with names of their own");
    }
    volumes[text_at(item, "name")] = read_volume(item, name_space);
  }
  return volumes;
}

// --- mounts

class MountReader {
 public:
  MountReader(const Volumes& volumes, bool shares_processes)
      : volumes_(volumes), shares_processes_(shares_processes) {}

  Status container(const Json& container);
  [[nodiscard]] PodMounts take() { return std::move(read_); }

 private:
  Status add(const Json& item, const std::string& container, bool device);
  Status add_message(const Json& container, const std::string& name);
  void add_processes(const Json& container, const std::string& name);
  // Whether one more mount is within the limits.
  Status count(const std::string& path, std::size_t more);

  const Volumes& volumes_;
  bool shares_processes_;  // all containers of the pod do
  PodMounts read_;
  std::size_t path_bytes_ = 0;
};

// The part of the volume that is mounted: a clean path below it, "" for all of it, nothing when the
// pod does not tell.
std::optional<std::string> sub_path_of(const Json& mount) {
  const Json& expression = member_at(mount, "subPathExpr");
  const Json& sub_path = member_at(mount, "subPath");
  const bool plain = sub_path.is_null() || sub_path.is_string();
  if (!plain || !(expression.is_null() || expression == Json(""))) {
    return std::nullopt;
  }
  const std::string text = text_at(mount, "subPath");
  if (text.starts_with('/') || goes_up(text) || text.size() > kMaxMountPath) {
    return std::nullopt;
  }
  return below_root(text);
}

Status MountReader::count(const std::string& path, std::size_t more) {
  if (read_.mounts.size() == kMaxPodMounts) {
    return too_many("the pod has more than 1024 mounts");
  }
  path_bytes_ += path.size() + more;
  if (path_bytes_ > kMaxPathBytes ||
      std::ranges::count(path, '/') > static_cast<std::ptrdiff_t>(kMaxPathParts)) {
    return too_many("a mount path has more than 128 parts, or all of them more than 128 KiB");
  }
  return {};
}

Status MountReader::add_message(const Json& container, const std::string& name) {
  const Json& member = member_at(container, kMessage);
  const std::string path = text_at(container, kMessage);
  if (!(member.is_null() || member.is_string()) || path.size() > kMaxMountPath) {
    return malformed("terminationMessagePath is a path of at most 4096 bytes");
  }
  if (path.empty() || path == kUsualMessage) {
    return {};
  }
  ASSAY_TRY(count(path, 0));
  Mount mount;
  mount.container = name;
  mount.path = goes_up(path) ? path : lexical_path(path);
  mount.source = kMessage;
  mount.kind = VolumeKind::kConfig;
  read_.mounts.push_back(std::move(mount));
  return {};
}

// At most one for each container, so that they do not count as mounts of the pod.
void MountReader::add_processes(const Json& container, const std::string& name) {
  const bool joins = is_set(container, policy::kProcessesOfTarget);
  if (!shares_processes_ && !joins) {
    return;
  }
  Mount mount;
  mount.container = name;
  mount.path = policy::kProcessesPath;
  mount.source = shares_processes_ ? policy::kProcessesOfPod : policy::kProcessesOfTarget;
  mount.kind = VolumeKind::kConfig;
  read_.mounts.push_back(std::move(mount));
}

Status MountReader::add(const Json& item, const std::string& container, bool device) {
  const std::string path = text_at(item, device ? "devicePath" : "mountPath");
  if (!member_at(item, "name").is_string() || path.size() > kMaxMountPath ||
      text_at(item, "name").size() > kMaxName) {
    return malformed("mounts are objects with short names and paths of at most 4096 bytes");
  }
  ASSAY_TRY(count(path, text_at(item, "subPath").size()));
  Mount mount;
  mount.container = container;
  mount.path = goes_up(path) ? path : lexical_path(path);
  mount.volume = text_at(item, "name");
  mount.device = device;
  mount.read_only = !device && flag_at(item, "readOnly");
  // `IfPossible` leaves to the node whether it is.
  mount.read_only_below = mount.read_only && text_at(item, "recursiveReadOnly") == "Enabled";
  if (const auto found = volumes_.find(mount.volume); found != volumes_.end()) {
    const Volume& volume = found->second;
    const std::optional<std::string> sub_path = sub_path_of(item);
    mount.source = volume.source;
    mount.kind = device ? VolumeKind::kModel : volume.kind;
    mount.read_only = mount.read_only || (!device && volume.read_only);
    mount.part = sub_path;
    if (!volume.base.empty()) {
      const std::string whole = normalise_location(volume.base).value_or(std::string());
      mount.location =
          sub_path ? normalise_location(volume.base + *sub_path).value_or(std::string()) : "";
      mount.volume_location = mount.location.empty() ? whole : "";
    }
    if (volume.source == kHostPath) {
      read_.host.push_back(volume.host);
      if (volume.host.clear && sub_path) {
        read_.host.back().path = lexical_path(volume.host.path + *sub_path);
      }
    }
  }
  read_.mounts.push_back(std::move(mount));
  return {};
}

Status MountReader::container(const Json& container) {
  const std::string name = text_at(container, "name");
  if (!container.is_object() || name.size() > kMaxName) {
    return malformed("containers are objects with short names");
  }
  for (const bool device : {false, true}) {
    ASSAY_ASSIGN(const Json* list, list_of(container, device ? "volumeDevices" : "volumeMounts"));
    for (const Json& item : *list) {
      ASSAY_TRY(add(item, name, device));
    }
  }
  add_processes(container, name);
  return add_message(container, name);
}

}  // namespace

std::string lexical_path(std::string_view path) {
  std::string clean;
  for (std::size_t start = 0; start < path.size();) {
    const std::size_t slash = std::min(path.find('/', start), path.size());
    const std::string_view part = path.substr(start, slash - start);
    if (part == "..") {
      clean.resize(clean.empty() ? 0 : clean.rfind('/'));
    } else if (!part.empty() && part != ".") {
      clean += '/';
      clean += part;
    }
    start = slash + 1;
  }
  return clean.empty() ? "/" : clean;
}

Result<PodMounts> read_mounts(const PodView& pod, const std::string& name_space) {
  ASSAY_ASSIGN(const Volumes volumes, read_volumes(pod, name_space));
  MountReader reader(volumes, is_set(pod.spec, policy::kProcessesOfPod));
  std::size_t containers = 0;
  for (const std::string_view kind : kContainerLists) {
    ASSAY_ASSIGN(const Json* list, list_of(pod.spec, kind));
    containers += list->size();
    if (containers > kMaxPodContainers) {
      return too_many("the pod has more than 256 containers");
    }
    for (const Json& container : *list) {
      ASSAY_TRY(reader.container(container));
    }
  }
  return reader.take();
}

}  // namespace assay::server
