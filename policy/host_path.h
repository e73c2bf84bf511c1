// SPDX-License-Identifier: Apache-2.0
// Directories of a node that pods may reach by volumes of the kind hostPath.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace assay::policy {

// Directories in which the volumes, images and memory of a node's pods can be reached: those of the
// kubelet, of container runtimes and of the kernel.
inline constexpr std::array<std::string_view, 14> kNodePlaces = {"/var/lib/kubelet",
                                                                 "/var/lib/k0s",
                                                                 "/var/lib/rancher",
                                                                 "/var/lib/containerd",
                                                                 "/var/lib/containers",
                                                                 "/var/lib/crio",
                                                                 "/var/lib/docker",
                                                                 "/var/lib/cni",
                                                                 "/var/lib/nerdctl",
                                                                 "/var/snap",
                                                                 "/run",
                                                                 "/proc",
                                                                 "/sys",
                                                                 "/dev"};

// Where the node agent has its socket (deploy/kubernetes/node-agent.yaml), and nothing else: the
// node mounts nothing below it.
inline constexpr std::string_view kAgentSocketDirectory = "/run/assay";

// Both take absolute paths without "..", "." or doubled slashes.
// Returns true when `path` is `directory` or lies below it.
[[nodiscard]] bool lies_in(std::string_view path, std::string_view directory);
// Returns true when `path` is, holds or lies in one of `places`.
[[nodiscard]] bool touches_any(std::string_view path, std::span<const std::string_view> places);

}  // namespace assay::policy
