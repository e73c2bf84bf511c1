// SPDX-License-Identifier: Apache-2.0
// What the containers of a pod mount.
#pragma once

#include <string>
#include <vector>

#include "policy/facts.h"
#include "server/service/kubernetes/pod.h"

namespace assay::server {

// More than any honest pod has; what has more is refused, not cut.
inline constexpr std::size_t kMaxPodVolumes = 1024;
inline constexpr std::size_t kMaxPodMounts = 1024;
inline constexpr std::size_t kMaxPodContainers = 256;
inline constexpr std::size_t kMaxMountPath = 4096;        // PATH_MAX
inline constexpr std::size_t kMaxPathParts = 128;         // of one mount path
inline constexpr std::size_t kMaxPathBytes = 128U << 10;  // of all mount paths and sub paths

// `path` as the kernel reads it, links aside: absolute, without empty and "." parts, ".." resolved.
[[nodiscard]] std::string lexical_path(std::string_view path);

// A directory or file of the node that a container sees.
struct HostExposure {
  std::string path;    // lexical
  bool clear = false;  // false: the pod writes no clean path, so that it may be any
};

struct PodMounts {
  // Where a path goes up ("..") it is as the pod writes it: which directory that is, the links of
  // the image decide. One for each element of volumeMounts and volumeDevices of every container,
  // init and ephemeral containers included, in the order of the pod. Behind those of a container
  // its terminationMessagePath, as configuration, unless it is the usual one.
  std::vector<policy::Mount> mounts;
  std::vector<HostExposure> host;  // of those, which show the node's own files
};

// malformed-admission-review for what no API server takes (lists that are none, two volumes of one
// name) and limit-exceeded for more than the limits above.
[[nodiscard]] Result<PodMounts> read_mounts(const PodView& pod, const std::string& name_space);

}  // namespace assay::server
