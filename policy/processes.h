// SPDX-License-Identifier: Apache-2.0
// Recognises containers that see processes of other containers. Such a container reaches the files
// of those processes below /proc/PID/root, with their writable mounts, even after the other
// container ended. A workload lists this access as a mount at /proc, with one of the sources below
// and without a volume.
#pragma once

#include <string_view>

#include "policy/facts.h"

namespace assay::policy {

inline constexpr std::string_view kProcessesPath = "/proc";
// All containers of the pod see each other.
inline constexpr std::string_view kProcessesOfPod = "shareProcessNamespace";
// An ephemeral container and its target see each other.
inline constexpr std::string_view kProcessesOfTarget = "targetContainerName";

// Returns true when the mount stands for such access to processes. The mount of a volume of the pod
// never does, whatever its source.
[[nodiscard]] inline bool shows_processes(const Mount& mount) {
  return mount.kind == VolumeKind::kConfig && mount.volume.empty() &&
         (mount.source == kProcessesOfPod || mount.source == kProcessesOfTarget);
}

}  // namespace assay::policy
