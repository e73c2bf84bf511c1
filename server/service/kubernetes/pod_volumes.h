// SPDX-License-Identifier: Apache-2.0
// Reads what the containers of a pod mount. The pod comes from an admission review and is not
// trusted.
#pragma once

#include <string>
#include <vector>

#include "policy/facts.h"
#include "server/service/kubernetes/pod.h"

namespace assay::server {

// Limits that are larger than ordinary pods need. A pod that exceeds a limit is refused; its lists
// are never truncated.
inline constexpr std::size_t kMaxPodVolumes = 1024;
inline constexpr std::size_t kMaxPodMounts = 1024;
inline constexpr std::size_t kMaxPodContainers = 256;
inline constexpr std::size_t kMaxMountPath = 4096;        // PATH_MAX
inline constexpr std::size_t kMaxPathParts = 128;         // of one mount path
inline constexpr std::size_t kMaxPathBytes = 128U << 10;  // of all mount paths and sub paths

// Returns `path` as the kernel reads it, except that links are not followed. The result is
// absolute, without empty and "." parts, and with ".." resolved.
[[nodiscard]] std::string lexical_path(std::string_view path);

// A directory or file of the node that a container sees.
struct HostExposure {
  std::string path;    // as lexical_path() returns it
  bool clear = false;  // false: the pod gives no unambiguous path; it may be any path
};

// Everything that the containers of a pod mount.
struct PodMounts {
  // One element for each volumeMounts and volumeDevices entry of every container, init and
  // ephemeral containers included, in the order of the pod. The terminationMessagePath of a
  // container follows the container's mounts, with VolumeKind::kConfig, unless it has the default
  // value. A path with ".." is kept as the pod has it, because symbolic links in the image decide
  // which directory it names.
  std::vector<policy::Mount> mounts;
  std::vector<HostExposure> host;  // one for each mount of a hostPath volume
};

// Reads the mounts of a pod in the namespace `name_space`. Errors: malformed-admission-review for a
// pod that no API server would accept (such as one with two volumes of one name); limit-exceeded
// for a pod beyond the limits above.
[[nodiscard]] Result<PodMounts> read_mounts(const PodView& pod, const std::string& name_space);

}  // namespace assay::server
