// SPDX-License-Identifier: Apache-2.0
// Resolves the path of a container's mount, given the symbolic links that all common images have.
// Internal to policy.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::policy {

// Returns one spelling for each directory: "/a/b" for "/a//./b/", "/run/x" for "/var/run/x", "" for
// the root. Returns nullopt for a path that only the running process knows ("/proc/self/...",
// "/dev/fd/..."). Returns nullopt for a path with "..", because the parent of a link's target is
// not the parent of the link. Returns nullopt for a path that is too long for any kernel.
[[nodiscard]] std::optional<std::string> real_path(std::string_view path);

// Returns `path` without empty and "." parts, without resolving links; "" for the root. Returns
// nullopt for a path with "..".
[[nodiscard]] std::optional<std::string> clean_path(std::string_view path);

// Returns true when the container runtime or the kubelet mounts something of its own at `path`,
// above `path` or below `path` in every container. These places are /dev (with /dev/shm, which all
// containers of a pod can write), /proc, /sys, and /etc/hosts and similar files that Kubernetes
// generates for the pod. The caller must pass a `path` from real_path().
[[nodiscard]] bool meets_runtime_mounts(std::string_view path);

// The patterns of a policy's `mount_paths`. A '*' stands for any characters, also for '/'.
class MountPaths {
 public:
  explicit MountPaths(const std::vector<std::string>& patterns);

  [[nodiscard]] bool empty() const { return patterns_.empty(); }
  // Returns true when models may be mounted at `path`. The caller must pass a `path` from
  // real_path().
  [[nodiscard]] bool admit(const std::string& path) const;
  // Returns true when only models may be mounted at `path`. This holds when `path` begins with the
  // text of a pattern before its first '*', or is a directory above this text. For a pattern
  // without '*', it holds when `path` is the pattern's path, or lies below or above it.
  [[nodiscard]] bool reserve(const std::string& path) const;

 private:
  std::vector<std::string> patterns_;
};

}  // namespace assay::policy
