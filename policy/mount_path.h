// SPDX-License-Identifier: Apache-2.0
// Where a mount of a container is, when the image has the links that every common one has. Inside
// of policy.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::policy {

// One spelling for each directory: "/a/b" for "/a//./b/", "/run/x" for "/var/run/x", "" for the
// root. Nothing for a path that only the running process knows ("/proc/self/...", "/dev/fd/..."),
// that goes up ("..": what lies above a link is not above its name), or that no kernel takes.
[[nodiscard]] std::optional<std::string> real_path(std::string_view path);

// `path` without empty and "." parts, links aside; "" for the root. Nothing when it goes up.
[[nodiscard]] std::optional<std::string> clean_path(std::string_view path);

// At `path`, above it or below it the runtime and the kubelet mount things of their own into every
// container: /dev with /dev/shm, which all containers of a pod write to, /proc, /sys, and
// /etc/hosts and its like, which the pod fills. `path` is one of real_path().
[[nodiscard]] bool meets_runtime_mounts(std::string_view path);

// The patterns of a policy's `mount_paths`. '*' stands for any characters, '/' included.
class MountPaths {
 public:
  explicit MountPaths(const std::vector<std::string>& patterns);

  [[nodiscard]] bool empty() const { return patterns_.empty(); }
  // Models may be mounted at `path`, which is one of real_path().
  [[nodiscard]] bool admit(const std::string& path) const;
  // Nothing but models may be mounted there: it is what a pattern says before its first '*', or
  // lies in it, or it lies in `path`.
  [[nodiscard]] bool reserve(const std::string& path) const;

 private:
  std::vector<std::string> patterns_;
};

}  // namespace assay::policy
