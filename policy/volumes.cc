// SPDX-License-Identifier: Apache-2.0
#include "policy/volumes.h"

#include <algorithm>
#include <map>
#include <utility>

#include "policy/checks.h"
#include "policy/glob.h"

namespace assay::policy {
namespace {

constexpr std::size_t kMaxPath = 4096;  // of Linux; nothing can be mounted at a longer one

// "/a/b" for "/a//b/", "a/./b" and "/a/c/../b"; "" for the root.
std::string clean_path(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
    if (part == ".." && !parts.empty()) {
      parts.pop_back();
    } else if (!part.empty() && part != "." && part != "..") {
      parts.push_back(part);
    }
  }
  std::string clean;
  for (const std::string_view part : parts) {
    clean.append("/").append(part);
  }
  return clean;
}

bool holds_model(const Mount& mount) { return mount.kind == VolumeKind::kModel || mount.device; }

bool is_allowed(const PolicyDocument& policy, const Mount& mount) {
  return any_glob_matches(policy.other_volumes, mount.source) ||
         (!mount.location.empty() && any_glob_matches(policy.other_volumes, mount.location));
}

// "container:/path (location, or source)".
std::string describe(const Mount& mount) {
  return mount.container + ":" + mount.path + " (" +
         (mount.location.empty() ? mount.source : mount.location) + ")";
}

// One pod under one policy.
struct Pod {
  const PolicyDocument& policy;
  const Workload& workload;
  const MountedModels& mounted;
  const FilledVolumes& filled;

  [[nodiscard]] bool is_filled(const Mount& mount) const {
    return mount.kind == VolumeKind::kScratch && filled.allowed.contains(mount.volume);
  }
  // What nothing else may cover, and nobody write to.
  [[nodiscard]] bool is_model(std::size_t m) const {
    return mounted.judged[m] || is_filled(workload.mounts[m]);
  }
  [[nodiscard]] bool touches_model(const Mount& mount) const;
  [[nodiscard]] bool may_write(std::size_t m) const;
  [[nodiscard]] std::vector<std::string> unaccounted(bool& undecided) const;
  [[nodiscard]] std::vector<std::string> overlaps() const;
  [[nodiscard]] std::vector<std::string> writable() const;
};

// The location holds a bound one, or lies in it: writing there changes the model.
bool Pod::touches_model(const Mount& mount) const {
  if (mount.location.empty()) {
    return false;
  }
  const auto below = mounted.bound.lower_bound(mount.location + "/");
  if (below != mounted.bound.end() && below->starts_with(mount.location + "/")) {
    return true;
  }
  for (std::string_view place = mount.location;;) {
    if (mounted.bound.contains(place)) {
      return true;
    }
    const std::size_t slash = place.rfind('/');
    if (slash == std::string_view::npos || slash == 0) {
      return false;
    }
    place = place.substr(0, slash);
  }
}

bool Pod::may_write(std::size_t m) const {
  const Mount& mount = workload.mounts[m];
  if (mount.read_only) {
    return false;
  }
  if (is_filled(mount)) {
    return !filled.fillers.contains(mount.container);
  }
  return mounted.judged[m] || (holds_model(mount) && touches_model(mount));
}

std::vector<std::string> Pod::unaccounted(bool& undecided) const {
  std::vector<std::string> found;
  for (std::size_t m = 0; m < workload.mounts.size(); ++m) {
    const Mount& mount = workload.mounts[m];
    if (!holds_model(mount) || mounted.judged[m] || is_allowed(policy, mount)) {
      continue;
    }
    if (mounted.undecided[m]) {
      undecided = true;
    } else {
      found.push_back(describe(mount));
    }
  }
  return found;
}

// The cost grows with the bytes of the paths, not with the square of their number.
std::vector<std::string> Pod::overlaps() const {
  std::vector<std::string> paths;
  std::map<std::string, std::map<std::string, std::size_t, std::less<>>, std::less<>> models;
  for (std::size_t m = 0; m < workload.mounts.size(); ++m) {
    paths.push_back(clean_path(workload.mounts[m].path));
    if (is_model(m)) {
      ++models[workload.mounts[m].container][paths.back()];
    }
  }
  std::vector<std::string> found;
  for (std::size_t m = 0; m < workload.mounts.size(); ++m) {
    const auto at = models.find(workload.mounts[m].container);
    if (at == models.end()) {
      continue;
    }
    bool covers = paths[m].size() > kMaxPath;
    for (std::string_view path = paths[m]; !covers; path = path.substr(0, path.rfind('/'))) {
      const auto model = at->second.find(path);
      const std::size_t itself = is_model(m) && path.size() == paths[m].size() ? 1 : 0;
      covers = model != at->second.end() && model->second > itself;
      if (path.empty()) {
        break;
      }
    }
    if (covers) {
      found.push_back(describe(workload.mounts[m]));
    }
  }
  return found;
}

std::vector<std::string> Pod::writable() const {
  std::vector<std::string> found;
  for (std::size_t m = 0; m < workload.mounts.size() && !policy.writable_mounts; ++m) {
    if (may_write(m)) {
      found.push_back(describe(workload.mounts[m]));
    }
  }
  return found;
}

}  // namespace

ConditionResult judge_volumes(const PolicyDocument& policy, const Workload& workload,
                              const MountedModels& mounted, const FilledVolumes& filled) {
  const Pod pod{policy, workload, mounted, filled};
  ConditionResult result{"volumes", Outcome::kPass, {}, nullptr, Json::object(), {}, {}};
  result.expected = {{"mounts", name(policy.mounts)},
                     {"other_volumes", shown_texts(policy.other_volumes)},
                     {"writable_mounts", policy.writable_mounts}};
  Checks checks;
  const auto demand_none = [&](const char* what, ErrorCode code,
                               const std::vector<std::string>& found) {
    checks.demand(found.empty(), code);
    if (!found.empty()) {
      result.actual[what] = shown_texts(found);
    }
  };
  bool undecided = false;
  demand_none("unaccounted", ErrorCode::kVolumeUnaccounted, pod.unaccounted(undecided));
  demand_none("overlaps", ErrorCode::kMountOverlaps, pod.overlaps());
  demand_none("writable", ErrorCode::kMountWritable, pod.writable());
  if (undecided) {
    checks.undecided();
  }
  if (!mounted.within.empty()) {
    result.actual["within"] = shown_texts(mounted.within);
  }
  checks.conclude(result);
  return result;
}

}  // namespace assay::policy
