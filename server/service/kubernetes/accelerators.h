// SPDX-License-Identifier: Apache-2.0
// The ways by which a pod can reach an accelerator. docs/policies.md explains them to authors of
// policies.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "server/service/kubernetes/pod.h"
#include "server/service/kubernetes/pod_volumes.h"

namespace assay::server {

// Limit on the ways that are listed. If a pod has more ways, the last entry is "more".
inline constexpr std::size_t kMaxWays = 64;

// Returns the ways of a pod, sorted, each once:
//   "resource:NAME"       an extended resource is requested (policy/accelerator.h)
//   "resource-claims"     dynamic resource allocation, by the pod or a container
//   "runtime-class:NAME"  any runtime class, because only its handler knows what it adds
//   "env:NAME"            a variable such as NVIDIA_VISIBLE_DEVICES, unless it asks for no device
//   "cdi-annotation", "device-annotation"  devices requested without the scheduler
//   "privileged"          a container that sees the node's devices, or has a capability that is not
//                         known to be harmless, or a `procMount` other than Default
//   "device-path:PATH"    device files of the node, or a directory that has them; PATH is "unclear"
//                         where the pod gives no clear path, also for mounts by annotation
//   "system-path:PATH"    directories of the node by which a container gets devices, or starts
//                         another container that has them
[[nodiscard]] std::vector<std::string> accelerators_of(const PodView& pod,
                                                       const std::set<std::string>& resources,
                                                       const PodMounts& mounts);

// Returns true when a container may be able to mount its read-only volumes again as writable, or to
// write the same files in another way. This is assumed for a container with privileges, with a
// capability that is not known to be harmless, or with a mount that propagates to the node.
[[nodiscard]] bool may_mount_again(const Json& container);
// Returns true when every container of the pod may be able to mount its read-only volumes again as
// writable, or to write the same files in another way. This is assumed when the containers are
// processes of the node, or can see the node's processes and their files below /proc/PID/root.
// Annotations that have the same effect are not considered here (runtime_annotations.h).
[[nodiscard]] bool may_mount_again(const PodView& pod);

}  // namespace assay::server
