// SPDX-License-Identifier: Apache-2.0
// Finds the pod and the container that a process runs in, from the text of /proc/PID/cgroup. Pure
// functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "schemas/core/error.h"

namespace assay::worker {

struct CgroupPlace {
  std::string pod;        // uid
  std::string container;  // id: 64 hex digits
  bool operator==(const CgroupPlace&) const = default;
};

// Finds pod and container in the groups that the kubelet and its runtimes (containerd, CRI-O,
// cri-dockerd) make, with the drivers systemd and cgroupfs, in hierarchies of version 1 and 2.
// Returns nullopt for a process outside of every pod.
//
// Only groups that nobody but root can make are trusted: the whole path from the root of the
// hierarchy to the container's group must be one that the kubelet and the runtime make. The rest of
// the path is ignored, because a container may make groups of any name below its own group. A path
// that begins with /.. belongs to a process in another cgroup namespace: the rest of this path is
// interpreted below one of the groups that contain the node agent.
//
// Errors: forbidden when the hierarchies name different pods or containers, for a group of the
// kubelet that is not a container's, and for a text that is malformed or longer than 64 KiB.
[[nodiscard]] Result<std::optional<CgroupPlace>> place_of_process(std::string_view cgroup_file);

}  // namespace assay::worker
