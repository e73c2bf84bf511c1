// SPDX-License-Identifier: Apache-2.0
#include "policy/volumes.h"

#include <algorithm>
#include <map>
#include <utility>

#include "policy/checks.h"
#include "policy/glob.h"
#include "policy/mount_path.h"

namespace assay::policy {
namespace {

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
  Pod(const PolicyDocument& policy_in, const Workload& workload_in, const MountedModels& mounted_in,
      const FilledVolumes& filled_in)
      : policy(policy_in),
        workload(workload_in),
        mounted(mounted_in),
        filled(filled_in),
        allowed_paths(policy_in.mount_paths) {
    for (const Mount& mount : workload.mounts) {
      paths.push_back(real_path(mount.path));
    }
  }

  const PolicyDocument& policy;
  const Workload& workload;
  const MountedModels& mounted;
  const FilledVolumes& filled;
  MountPaths allowed_paths;
  std::vector<std::optional<std::string>> paths;  // of each mount of the workload

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
  [[nodiscard]] std::vector<std::string> elsewhere() const;
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

// A path that is not known may be any. The cost grows with the bytes of the paths, not with the
// square of their number.
std::vector<std::string> Pod::overlaps() const {
  std::map<std::string, std::map<std::string, std::size_t, std::less<>>, std::less<>> models;
  for (std::size_t m = 0; m < workload.mounts.size(); ++m) {
    if (is_model(m)) {
      ++models[workload.mounts[m].container][paths[m].value_or(std::string())];
    }
  }
  std::vector<std::string> found;
  for (std::size_t m = 0; m < workload.mounts.size(); ++m) {
    const auto at = models.find(workload.mounts[m].container);
    bool covers = !is_model(m) && paths[m] && allowed_paths.reserve(*paths[m]);
    if (at != models.end() && !covers) {
      covers = !paths[m];
      for (std::string_view path = paths[m] ? std::string_view(*paths[m]) : ""; !covers;
           path = path.substr(0, path.rfind('/'))) {
        const auto model = at->second.find(path);
        const std::size_t itself = is_model(m) && path.size() == paths[m]->size() ? 1 : 0;
        covers = model != at->second.end() && model->second > itself;
        if (path.empty()) {
          break;
        }
      }
    }
    if (covers) {
      found.push_back(describe(workload.mounts[m]));
    }
  }
  return found;
}

// A block device shows no files, wherever it is.
std::vector<std::string> Pod::elsewhere() const {
  std::vector<std::string> found;
  for (std::size_t m = 0; m < workload.mounts.size() && !allowed_paths.empty(); ++m) {
    if (is_model(m) && !workload.mounts[m].device &&
        !(paths[m] && allowed_paths.admit(*paths[m]))) {
      found.push_back(describe(workload.mounts[m]));
    }
  }
  return found;
}

std::vector<std::string> Pod::writable() const {
  std::vector<std::string> found;
  if (policy.writable_mounts) {
    return found;
  }
  bool any = false;
  for (std::size_t m = 0; m < workload.mounts.size(); ++m) {
    any = any || is_model(m);
    if (may_write(m)) {
      found.push_back(describe(workload.mounts[m]));
    }
  }
  for (const ContainerImage& one : workload.images) {
    if (any && one.remounts) {
      found.push_back(one.container + ": may mount again what is mounted read-only");
    }
  }
  return found;
}

}  // namespace

ConditionResult judge_volumes(const PolicyDocument& policy, const Workload& workload,
                              const MountedModels& mounted, const FilledVolumes& filled) {
  const Pod pod(policy, workload, mounted, filled);
  ConditionResult result{"volumes", Outcome::kPass, {}, nullptr, Json::object(), {}, {}};
  result.expected = {{"mounts", name(policy.mounts)},
                     {"other_volumes", shown_texts(policy.other_volumes)},
                     {"writable_mounts", policy.writable_mounts}};
  if (!policy.mount_paths.empty()) {
    result.expected["mount_paths"] = shown_texts(policy.mount_paths);
  }
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
  demand_none("elsewhere", ErrorCode::kMountPathNotAllowed, pod.elsewhere());
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
