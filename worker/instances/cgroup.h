// SPDX-License-Identifier: Apache-2.0
// Which pod and container a process runs in, from the text of its /proc/PID/cgroup. Pure functions.
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
// Only groups that nobody but root can make count: the whole path from the root of the hierarchy
// must be the kubelet's, and what follows the container's group is not looked at, because a
// container may make groups of any name below its own. A path that begins with /.. is seen from
// another cgroup namespace; what follows lies below a group that the node agent itself is in.
//
// Errors: forbidden for hierarchies that disagree, and for a group of the kubelet that is no
// container.
[[nodiscard]] Result<std::optional<CgroupPlace>> place_of_process(std::string_view cgroup_file);

}  // namespace assay::worker
