// SPDX-License-Identifier: Apache-2.0
#include "server/service/kubernetes/accelerators.h"

#include <algorithm>
#include <array>

#include "policy/accelerator.h"
#include "policy/host_path.h"
#include "schemas/core/json_at.h"
#include "server/service/kubernetes/runtime_annotations.h"

namespace assay::server {
namespace {

constexpr std::size_t kMaxWay = 400;  // bytes of one that are kept; names of resources are shorter

// Ends of the names of variables by which container runtimes hand out devices.
constexpr std::array<std::string_view, 3> kDeviceVariables = {"_VISIBLE_DEVICES", "_VISIBLE_CORES",
                                                              "_VISIBLE_CHIPS"};
// Variables that runtimes of vendors read, for prefixes that begin one of them.
constexpr std::array<std::string_view, 7> kKnownVariables = {
    "NVIDIA_VISIBLE_DEVICES", "CUDA_VERSION",           "AMD_VISIBLE_DEVICES",
    "HABANA_VISIBLE_DEVICES", "ASCEND_VISIBLE_DEVICES", "TPU_VISIBLE_CHIPS",
    "NEURON_RT_VISIBLE_CORES"};
// Values that hand out none.
constexpr std::array<std::string_view, 4> kNoDevices = {"", "void", "none", "-1"};

// Device files that give nothing but what they are named after. Exactly these: what lies below a
// directory may be a link.
constexpr std::array<std::string_view, 11> kHarmlessDevices = {
    "/dev/null", "/dev/zero",      "/dev/full", "/dev/random",  "/dev/urandom", "/dev/log",
    "/dev/shm",  "/dev/hugepages", "/dev/fuse", "/dev/net/tun", "/dev/mqueue"};
// /proc/PID/root leads to /dev.
constexpr std::array<std::string_view, 2> kDeviceDirectories = {"/dev", "/proc"};

// Directories of the node's own system beside policy::kNodePlaces. Container runtimes, the kubelet
// and device runtimes are configured and installed there, each distribution at places of its own.
constexpr std::array<std::string_view, 12> kSystemPlaces = {
    "/etc", "/usr",  "/boot", "/lib",  "/lib32", "/lib64",
    "/bin", "/sbin", "/opt",  "/root", "/snap",  "/var/lib/nvidia"};
// What pods mount of them that starts, configures and reaches nothing.
constexpr std::array<std::string_view, 15> kHarmlessPlaces = {"/etc/localtime",
                                                              "/etc/timezone",
                                                              "/etc/machine-id",
                                                              "/etc/hosts",
                                                              "/etc/hostname",
                                                              "/etc/resolv.conf",
                                                              "/etc/os-release",
                                                              "/etc/ssl",
                                                              "/etc/pki",
                                                              "/etc/ca-certificates",
                                                              "/usr/share/zoneinfo",
                                                              "/usr/share/ca-certificates",
                                                              "/usr/local/share/ca-certificates",
                                                              "/run/secrets",
                                                              "/run/log"};

// Mounts below this path ask NVIDIA's runtime for the devices that their paths name.
constexpr std::string_view kDeviceListMounts = "/run/nvidia-container-devices";

// At most kMaxWays, and a mark that there are more.
class Ways {
 public:
  void add(std::string way) {
    way.resize(std::min(way.size(), kMaxWay));
    while (!is_utf8(way)) {
      way.pop_back();
    }
    if (ways_.size() < kMaxWays) {
      ways_.insert(std::move(way));
    } else {
      more_ = more_ || !ways_.contains(way);
    }
  }

  [[nodiscard]] std::vector<std::string> take() const {
    std::vector<std::string> list(ways_.begin(), ways_.end());
    if (more_) {
      list.back() = "more";
    }
    return list;
  }

 private:
  std::set<std::string> ways_;
  bool more_ = false;
};

// /var/run is a link to /run.
std::string resolved(const std::string& path) {
  return policy::lies_in(path, "/var/run") ? path.substr(std::string_view("/var").size()) : path;
}

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool is_harmless(std::string_view path) {
  return std::any_of(kHarmlessPlaces.begin(), kHarmlessPlaces.end(),
                     [&](std::string_view place) { return policy::lies_in(path, place); });
}

void add_host_path(const HostExposure& host, Ways& ways) {
  const std::string path = resolved(host.path);
  if (!host.clear) {
    ways.add("device-path:unclear");
  } else if (policy::touches_any(path, kDeviceDirectories)) {
    if (!is_one_of(kHarmlessDevices, path)) {
      ways.add("device-path:" + host.path);
    }
  } else if ((policy::touches_any(path, policy::kNodePlaces) ||
              policy::touches_any(path, kSystemPlaces)) &&
             !is_harmless(path)) {
    ways.add("system-path:" + host.path);
  }
}

void add_mounts(const PodMounts& mounts, Ways& ways) {
  for (const HostExposure& host : mounts.host) {
    add_host_path(host, ways);
  }
  for (const policy::Mount& mount : mounts.mounts) {
    if (policy::lies_in(resolved(lexical_path(mount.path)), kDeviceListMounts)) {
      ways.add("device-path:" + mount.path);
    }
  }
}

void add_environment(const Json& container, Ways& ways) {
  for (const Json& variable : array_at(container, "env")) {
    const std::string name = text_at(variable, "name");
    const bool hands_out =
        std::any_of(kDeviceVariables.begin(), kDeviceVariables.end(),
                    [&](std::string_view end) { return std::string_view(name).ends_with(end); });
    // NVIDIA's runtime gives all devices to an image that says this and not which ones it wants.
    if (name == "CUDA_VERSION") {
      ways.add("env:" + name);
    }
    const Json& value = member_at(variable, "value");
    const bool unknown =
        !member_at(variable, "valueFrom").is_null() || !(value.is_null() || value.is_string());
    if (hands_out && (unknown || !is_one_of(kNoDevices, text_at(variable, "value")))) {
      ways.add("env:" + name);
    }
  }
}

// Whether a variable of `envFrom` with this prefix may be one that hands out devices: its name ends
// in a key that the pod does not show. Without a prefix it may be any variable, as those of an
// image may: that leaves no trace (docs/policies.md).
bool begins_device_variable(std::string_view prefix) {
  constexpr std::size_t kTelling = 2;  // "_V": more than the end of any word
  return !prefix.empty() &&
         (std::ranges::any_of(kKnownVariables,
                              [&](std::string_view name) { return name.starts_with(prefix); }) ||
          std::ranges::any_of(kDeviceVariables, [&](std::string_view end) {
            for (std::size_t size = kTelling; size < end.size(); ++size) {
              if (prefix.ends_with(end.substr(0, size))) {
                return true;
              }
            }
            return false;
          }));
}

void add_sources_of_environment(const Json& container, Ways& ways) {
  for (const Json& source : array_at(container, "envFrom")) {
    const Json& prefix = member_at(source, "prefix");
    if (prefix.is_string() && begins_device_variable(prefix.get_ref<const std::string&>())) {
      ways.add("env:" + prefix.get<std::string>() + "*");
    } else if (!prefix.is_string() && !prefix.is_null()) {
      ways.add("env:unclear");
    }
  }
}

// Anything that is not plainly false counts as true.
bool is_set(const Json& holder, std::string_view member) {
  const Json& value = member_at(holder, member);
  return !(value.is_null() || value == false);
}

bool is_host_process(const Json& holder) {
  return is_set(object_at(object_at(holder, "securityContext"), "windowsOptions"), "hostProcess");
}

// Runtimes take the names of capabilities in any case, some with "CAP_".
std::string capability(std::string_view name) {
  std::string upper(name);
  std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return upper.starts_with("CAP_") ? upper.substr(4) : upper;
}

// Capabilities with which a container gets at nothing but its own files, its network and its share
// of the machine: those of Pod Security's baseline, and a few more. With others it mounts, loads
// modules, opens files past its mounts, or reads the memory of whoever may.
constexpr std::array<std::string_view, 22> kHarmlessCapabilities = {
    "AUDIT_WRITE", "CHOWN",     "DAC_OVERRIDE", "FOWNER",      "FSETID",   "KILL",
    "MKNOD",       "SETFCAP",   "SETGID",       "SETPCAP",     "SETUID",   "NET_BIND_SERVICE",
    "SYS_CHROOT",  "NET_ADMIN", "NET_RAW",      "IPC_LOCK",    "SYS_NICE", "NET_BROADCAST",
    "SYS_TIME",    "LEASE",     "WAKE_ALARM",   "SYS_RESOURCE"};

bool has_capability(const Json& container) {
  const Json& added =
      member_at(object_at(object_at(container, "securityContext"), "capabilities"), "add");
  if (!added.is_array()) {
    return !added.is_null();
  }
  return std::any_of(added.begin(), added.end(), [](const Json& one) {
    return !one.is_string() ||
           !is_one_of(kHarmlessCapabilities, capability(one.get_ref<const std::string&>()));
  });
}

// With any other mask than the usual one a container may write below /proc/sys.
bool unmasks_proc(const Json& container) {
  const Json& mask = member_at(object_at(container, "securityContext"), "procMount");
  return !(mask.is_null() || mask == "Default");
}

bool has_privileges(const Json& container) {
  return unmasks_proc(container) || is_set(object_at(container, "securityContext"), "privileged") ||
         has_capability(container) || is_host_process(container);
}

// What it mounts then shows in the node's own file system, and in other containers.
bool propagates(const Json& mount) {
  const Json& propagation = member_at(mount, "mountPropagation");
  return !(propagation.is_null() || propagation == "None" || propagation == "HostToContainer");
}

void add_container(const Json& container, Ways& ways) {
  add_environment(container, ways);
  add_sources_of_environment(container, ways);
  if (has_privileges(container)) {
    ways.add("privileged");
  }
  const Json& claims = member_at(object_at(container, "resources"), "claims");
  if (!claims.is_null() && !claims.empty()) {
    ways.add("resource-claims");
  }
}

void add_annotations(const PodView& pod, Ways& ways) {
  const RuntimeAnnotations found = runtime_annotations(pod);
  if (found.cdi) {
    ways.add("cdi-annotation");
  }
  if (found.devices || found.shares) {
    ways.add("device-annotation");
  }
  if (found.mounts) {
    ways.add("device-path:unclear");
  }
}

}  // namespace

bool may_mount_again(const PodView& pod) {
  return is_host_process(pod.spec) || is_set(pod.spec, "hostPID");
}

bool may_mount_again(const Json& container) {
  const Json& mounts = array_at(container, "volumeMounts");
  return has_privileges(container) || std::any_of(mounts.begin(), mounts.end(), propagates);
}

std::vector<std::string> accelerators_of(const PodView& pod, const std::set<std::string>& resources,
                                         const PodMounts& mounts) {
  Ways ways;
  for (const std::string& name : resources) {
    if (policy::is_extended_resource(name)) {
      ways.add("resource:" + name);
    }
  }
  const Json& claims = member_at(pod.spec, "resourceClaims");
  if (!claims.is_null() && !claims.empty()) {
    ways.add("resource-claims");
  }
  if (const std::string name = text_at(pod.spec, "runtimeClassName"); !name.empty()) {
    ways.add("runtime-class:" + name);
  }
  if (is_host_process(pod.spec)) {
    ways.add("privileged");
  }
  for (const std::string_view list : kContainerLists) {
    for (const Json& container : array_at(pod.spec, list)) {
      add_container(container, ways);
    }
  }
  add_annotations(pod, ways);
  add_mounts(mounts, ways);
  return ways.take();
}

}  // namespace assay::server
