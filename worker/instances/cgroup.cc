// SPDX-License-Identifier: Apache-2.0
// Names of groups: kubelet pkg/kubelet/cm/cgroup_manager_linux.go, containerd pkg/cri, CRI-O
// internal/config/cgmgr.
#include "worker/instances/cgroup.h"

#include <algorithm>
#include <array>
#include <vector>

#include "schemas/job.h"

namespace assay::worker {
namespace {

using Path = std::vector<std::string_view>;

constexpr std::string_view kSlice = ".slice";
constexpr std::string_view kScope = ".scope";
constexpr std::size_t kContainerId = 64;
// Longer files do not come from a kernel with the usual dozen hierarchies.
constexpr std::size_t kMaxFile = 64U << 10;

// Cuts a fixed text from the front or the end; false when it is not there.
bool cut_front(std::string_view& text, std::string_view front) {
  const bool there = text.starts_with(front);
  text.remove_prefix(there ? front.size() : 0);
  return there;
}
bool cut_end(std::string_view& text, std::string_view end) {
  const bool there = text.ends_with(end);
  text.remove_suffix(there ? end.size() : 0);
  return there;
}

// The groups of a path, without those at its front that lead out of the reader's namespace.
Path parts_of(std::string_view path, bool& relative) {
  Path parts;
  relative = false;
  while (!path.empty()) {
    path.remove_prefix(path.front() == '/' ? 1 : 0);
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(part.size());
    if (part == ".." && parts.empty()) {
      relative = true;
    } else if (!part.empty()) {
      parts.push_back(part);
    }
  }
  return parts;
}

bool is_container_id(std::string_view text) {
  return text.size() == kContainerId && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// "cri-containerd-ID.scope", "crio-ID.scope", "docker-ID.scope"; with the driver cgroupfs "ID" or
// "crio-ID". A monitor of CRI-O ("crio-conmon-ID") is no container.
std::optional<std::string> container_of(std::string_view group, bool systemd) {
  if (systemd && !cut_end(group, kScope)) {
    return std::nullopt;
  }
  const bool named = cut_front(group, "cri-containerd-") || cut_front(group, "crio-") ||
                     cut_front(group, "docker-");
  if (systemd && !named) {
    return std::nullopt;
  }
  return is_container_id(group) ? std::optional<std::string>(group) : std::nullopt;
}

std::optional<CgroupPlace> place(std::string uid, std::optional<std::string> container) {
  if (!container || !check_pod_uid(uid)) {
    return std::nullopt;
  }
  return CgroupPlace{std::move(uid), *std::move(container)};
}

// "PREFIX-podUID.slice" of the driver systemd, which writes '_' for '-': the uid, and the slices
// above, outermost first ("a-b-c.slice" lies in "a-b.slice" in "a.slice").
struct PodSlice {
  std::string uid;
  std::vector<std::string> above;
};
std::optional<PodSlice> pod_slice(std::string_view group) {
  if (!cut_end(group, kSlice)) {
    return std::nullopt;
  }
  for (const std::string_view root : {"kubepods", "kubelet-kubepods"}) {
    for (const std::string_view quality : {"", "-burstable", "-besteffort"}) {
      const std::string prefix = std::string(root) + std::string(quality);
      std::string_view rest = group;
      if (!cut_front(rest, prefix + "-pod")) {
        continue;
      }
      PodSlice slice{std::string(rest), {}};
      std::ranges::replace(slice.uid, '_', '-');
      for (std::size_t dash = prefix.find('-'); dash != std::string::npos;
           dash = prefix.find('-', dash + 1)) {
        slice.above.push_back(prefix.substr(0, dash) + std::string(kSlice));
      }
      slice.above.push_back(prefix + std::string(kSlice));
      return slice;
    }
  }
  return std::nullopt;
}

// The groups before `at` are `above`; of a path seen from another namespace the last of them.
bool lies_below(const Path& parts, std::size_t at, const std::vector<std::string>& above,
                bool relative) {
  return (relative ? at <= above.size() : at == above.size()) &&
         std::equal(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(at),
                    above.end() - static_cast<std::ptrdiff_t>(at));
}

std::optional<CgroupPlace> by_systemd(const Path& parts, bool relative) {
  for (std::size_t at = 0; at + 1 < parts.size(); ++at) {
    const auto slice = pod_slice(parts[at]);
    if (slice) {
      return lies_below(parts, at, slice->above, relative)
                 ? place(slice->uid, container_of(parts[at + 1], true))
                 : std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<CgroupPlace> by_cgroupfs(const Path& parts, bool relative) {
  for (std::size_t at = 0; at + 1 < parts.size(); ++at) {
    std::string_view uid = parts[at];
    if (!cut_front(uid, "pod")) {
      continue;
    }
    for (const std::vector<std::string>& root :
         {std::vector<std::string>{"kubepods"}, std::vector<std::string>{"kubelet", "kubepods"}}) {
      for (const char* quality : {"", "burstable", "besteffort"}) {
        std::vector<std::string> above = root;
        if (*quality != '\0') {
          above.emplace_back(quality);
        }
        if (lies_below(parts, at, above, relative)) {
          return place(std::string(uid), container_of(parts[at + 1], false));
        }
      }
    }
    return std::nullopt;
  }
  return std::nullopt;
}

// containerd with the driver cgroupfs below a kubelet with the driver systemd:
// "kubepods-podUID.slice:cri-containerd:ID", at the root or below containerd's own service.
std::optional<CgroupPlace> by_mixed_drivers(const Path& parts, bool relative) {
  const bool service =
      parts.size() >= 3 && parts[0] == "system.slice" && parts[1] == "containerd.service";
  const std::size_t at = service ? 2 : 0;
  if (parts.size() <= at || relative) {
    return std::nullopt;
  }
  const std::size_t colon = parts[at].find(':');
  const auto slice = pod_slice(parts[at].substr(0, colon));
  std::string_view rest = colon == std::string_view::npos ? "" : parts[at].substr(colon);
  if (!slice || !cut_front(rest, ":cri-containerd:")) {
    return std::nullopt;
  }
  return place(slice->uid, container_of(rest, false));
}

// One path of the file.
std::optional<CgroupPlace> place_of_path(std::string_view path) {
  bool relative = false;
  const Path parts = parts_of(path, relative);
  for (const auto& read : {by_systemd, by_cgroupfs, by_mixed_drivers}) {
    if (auto found = read(parts, relative)) {
      return found;
    }
  }
  return std::nullopt;
}

bool is_of_kubelet(std::string_view path) {
  return path.find("kubepods") != std::string_view::npos;
}

}  // namespace

Result<std::optional<CgroupPlace>> place_of_process(std::string_view cgroup_file) {
  if (cgroup_file.empty() || cgroup_file.size() > kMaxFile) {
    return fail(ErrorCode::kForbidden, "the groups of the process cannot be read");
  }
  std::optional<CgroupPlace> found;
  bool of_kubelet = false;
  while (!cgroup_file.empty()) {
    std::string_view line = cgroup_file.substr(0, cgroup_file.find('\n'));
    cgroup_file.remove_prefix(std::min(line.size() + 1, cgroup_file.size()));
    // HIERARCHY:CONTROLLERS:PATH
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) {
      return fail(ErrorCode::kForbidden, "the groups of the process cannot be read");
    }
    line.remove_prefix(second + 1);
    const auto place = place_of_path(line);
    of_kubelet = of_kubelet || is_of_kubelet(line);
    if (place && found && *place != *found) {
      return fail(ErrorCode::kForbidden, "the groups of the process name several pods");
    }
    if (place) {
      found = place;
    }
  }
  if (!found && of_kubelet) {
    return fail(ErrorCode::kForbidden,
                "the process is in a group of the kubelet, but in no container");
  }
  return found;
}

}  // namespace assay::worker
