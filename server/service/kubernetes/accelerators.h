// SPDX-License-Identifier: Apache-2.0
// Ways by which a pod can reach an accelerator. docs/policies.md lists them for people.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "server/service/kubernetes/pod.h"
#include "server/service/kubernetes/pod_volumes.h"

namespace assay::server {

// More ways than these are not listed one by one: the last is then "more".
inline constexpr std::size_t kMaxWays = 64;

// In order, each once:
//   "resource:NAME"       an extended resource is asked for (policy/accelerator.h)
//   "resource-claims"     dynamic resource allocation, by the pod or a container
//   "runtime-class:NAME"  any, since only its handler knows what it adds
//   "env:NAME"            *_VISIBLE_DEVICES and the like, unless the value says none
//   "cdi-annotation", "device-annotation"  devices asked for past the scheduler
//   "privileged"          a container that sees the node's devices, or has a capability that is not
//                         known to be harmless
//   "device-path:PATH"    device files of the node, or a directory that has them; PATH is "unclear"
//                         where the pod does not tell, also of mounts by annotation
//   "runtime-socket:PATH" sockets and directories by which a container gets devices, or another
//                         container that has them
[[nodiscard]] std::vector<std::string> accelerators_of(const PodView& pod,
                                                       const std::set<std::string>& resources,
                                                       const PodMounts& mounts);

// The container may mount again what it has read-only, or reach the same files past its mounts: it
// has privileges or a capability that is not known to be harmless, or a mount of it propagates to
// the node.
[[nodiscard]] bool may_mount_again(const Json& container);
// Every container of the pod may: it is one of the node's processes, or sees them, and what they
// have below /proc/PID/root. Annotations are another way (runtime_annotations.h).
[[nodiscard]] bool may_mount_again(const PodView& pod);

}  // namespace assay::server
