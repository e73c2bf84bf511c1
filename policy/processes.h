// SPDX-License-Identifier: Apache-2.0
// Containers that see processes of other containers. Below /proc/PID/root such a container has the
// files of those processes, with their writable mounts, even after the other container ended. A
// workload lists this view as a mount at /proc, with one of the sources below and without a volume.
#pragma once

#include <string_view>

#include "policy/facts.h"

namespace assay::policy {

inline constexpr std::string_view kProcessesPath = "/proc";
// All containers of the pod see each other.
inline constexpr std::string_view kProcessesOfPod = "shareProcessNamespace";
// An ephemeral container and its target see each other.
inline constexpr std::string_view kProcessesOfTarget = "targetContainerName";

// Returns true when the mount is such a view. A volume of a pod is none, whatever its source.
[[nodiscard]] inline bool shows_processes(const Mount& mount) {
  return mount.kind == VolumeKind::kConfig && mount.volume.empty() &&
         (mount.source == kProcessesOfPod || mount.source == kProcessesOfTarget);
}

}  // namespace assay::policy
