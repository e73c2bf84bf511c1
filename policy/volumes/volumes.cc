// SPDX-License-Identifier: Apache-2.0
#include "policy/volumes/volumes.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "policy/conditions/checks.h"
#include "policy/glob.h"
#include "policy/host_path.h"
#include "policy/processes.h"
#include "policy/volumes/mount_path.h"
#include "schemas/location.h"

namespace assay::policy {
namespace {

// The location of what is mounted. When the part of a volume is not known, that of the whole
// volume.
const std::string& place_of(const Mount& mount) {
  return mount.location.empty() ? mount.volume_location : mount.location;
}

constexpr std::string_view kHostScheme = "hostpath://";

// Where on the node a mount with a location of the node is. nullopt when links may lead anywhere.
std::optional<std::string> path_on_node(const Mount& mount) {
  return real_path(place_of(mount).substr(kHostScheme.size()));
}

// Whether the hostPath may lead to the volumes of the node's pods. Another root directory of the
// kubelet is known by the name of its directory alone.
bool shows_node(const Mount& mount) {
  if (!place_of(mount).starts_with(kHostScheme)) {
    return false;
  }
  const std::optional<std::string> path = path_on_node(mount);
  return !path || (*path + "/").find("/kubelet/") != std::string::npos ||
         touches_any(*path, kNodePlaces);
}

// A read-only mount of a directory of the node leaves writable what the node has mounted below it.
bool writable_below(const Mount& mount) {
  const bool located = place_of(mount).starts_with(kHostScheme);
  if (mount.read_only_below || !(located || mount.source == "hostPath")) {
    return false;
  }
  return !located || path_on_node(mount) != std::string(kAgentSocketDirectory);
}

// A volume of which nothing is known to be other than a judged one. What the pod has made for
// itself is new.
bool may_be_any(const Mount& mount) {
  constexpr std::string_view kMadeForThePod = "ephemeral";
  return (place_of(mount).empty() && mount.source != kMadeForThePod) || shows_node(mount);
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

// Whether one of the directories above `path` passes, the root ("") included.
template <typename Test>
bool any_parent(std::string_view path, Test test) {
  while (!path.empty()) {
    path = path.substr(0, path.rfind('/'));
    if (test(path)) {
      return true;
    }
  }
  return false;
}

// Paths of what one container mounts: real ones, and as the pod writes them, since a link of the
// image is gone when something is mounted over the directory that has it.
struct Container {
  std::map<std::string, std::size_t, std::less<>> models;  // real paths, and how many are there
  std::set<std::string, std::less<>> spelled;              // of models, either way
  std::set<std::string, std::less<>> changeable;           // of what may have any links, either way

  [[nodiscard]] bool has_model_below(const std::string& path) const {
    const std::string start = path + "/";
    const auto below = spelled.lower_bound(start);
    return below != spelled.end() && below->starts_with(start);
  }
  [[nodiscard]] bool lies_in_changeable(std::string_view path) const {
    return any_parent(path, [&](std::string_view one) { return changeable.contains(one); });
  }
};

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
      written.push_back(clean_path(mount.path));
    }
  }

  const PolicyDocument& policy;
  const Workload& workload;
  const MountedModels& mounted;
  const FilledVolumes& filled;
  MountPaths allowed_paths;
  std::vector<std::optional<std::string>> paths;  // of each mount of the workload
  std::vector<std::optional<std::string>> written;

  [[nodiscard]] bool is_filled(const Mount& mount) const {
    return mount.kind == VolumeKind::kScratch && filled.allowed.contains(mount.volume);
  }
  // What nothing else may cover, and nobody write to.
  [[nodiscard]] bool is_model(std::size_t m) const {
    return mounted.judged[m] || is_filled(workload.mounts[m]);
  }
  // Shows a part of a filled volume that may be something else than what was filled in.
  [[nodiscard]] bool shows_wrong_part(const Mount& mount) const {
    return is_filled(mount) && !filled.fillers.contains(mount.container) && mount.part != "" &&
           !(mount.part && filled.parts);
  }
  [[nodiscard]] bool touches_model(const Mount& mount) const;
  [[nodiscard]] bool may_write(std::size_t m) const;
  [[nodiscard]] bool reaches_filled(const Mount& mount) const;
  [[nodiscard]] std::vector<std::string> unaccounted(bool& undecided) const;
  [[nodiscard]] std::map<std::string_view, Container> containers() const;
  [[nodiscard]] bool overlaps(std::size_t m, const Container& in) const;
  [[nodiscard]] std::vector<std::string> overlaps() const;
  [[nodiscard]] std::vector<std::string> elsewhere() const;
  [[nodiscard]] std::vector<std::string> writable() const;
  [[nodiscard]] std::vector<std::string> within() const;
};

// The location holds a bound one, or lies in it: writing there changes the model.
bool Pod::touches_model(const Mount& mount) const {
  if (may_be_any(mount)) {
    return !mounted.bound.empty() || !filled.allowed.empty();
  }
  const std::string& location = place_of(mount);
  if (location.empty()) {
    return false;
  }
  const auto below = mounted.bound.lower_bound(location + "/");
  if (below != mounted.bound.end() && below->starts_with(location + "/")) {
    return true;
  }
  for (std::string_view place = location;;) {
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
  if (mount.read_only && (mounted.judged[m] || is_filled(mount) || !writable_below(mount))) {
    return false;
  }
  if (is_filled(mount)) {
    return !filled.fillers.contains(mount.container);
  }
  return mounted.judged[m] || (holds_model(mount) && touches_model(mount));
}

// The process of a filler holds the filled volume writable, also for whoever sees that process.
bool Pod::reaches_filled(const Mount& mount) const {
  return shows_processes(mount) && !filled.allowed.empty() &&
         !filled.fillers.contains(mount.container);
}

std::vector<std::string> Pod::unaccounted(bool& undecided) const {
  std::vector<std::string> found;
  for (std::size_t m = 0; m < workload.mounts.size(); ++m) {
    const Mount& mount = workload.mounts[m];
    if (shows_wrong_part(mount)) {
      found.push_back(describe(mount) + ": a part of a filled volume");
    }
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

// Of the containers that mount a model.
std::map<std::string_view, Container> Pod::containers() const {
  std::map<std::string_view, Container> found;
  for (std::size_t m = 0; m < workload.mounts.size(); ++m) {
    if (is_model(m)) {
      Container& in = found[workload.mounts[m].container];
      ++in.models[paths[m].value_or(std::string())];
      in.spelled.insert({paths[m].value_or(std::string()), written[m].value_or(std::string())});
    }
  }
  for (std::size_t m = 0; m < workload.mounts.size(); ++m) {
    const auto at = found.find(workload.mounts[m].container);
    const bool makes_links = !is_model(m) && workload.mounts[m].kind != VolumeKind::kConfig;
    if (at != found.end() && makes_links && paths[m]) {
      at->second.changeable.insert({*paths[m], *written[m]});
    }
  }
  return found;
}

// At or below a model it hides files. Above one, whoever else has the volume moves the directory
// away in which the model is mounted. Below what has links of somebody it is mounted anywhere.
bool Pod::overlaps(std::size_t m, const Container& in) const {
  if (!paths[m]) {
    return true;  // may be any
  }
  const std::string& path = *paths[m];
  const auto same = in.models.find(path);
  if ((same != in.models.end() && same->second > (is_model(m) ? 1U : 0U)) ||
      any_parent(path, [&](std::string_view one) { return in.models.contains(one); })) {
    return true;
  }
  if (is_model(m)) {
    return !workload.mounts[m].device && meets_runtime_mounts(path);
  }
  return in.has_model_below(path) || in.has_model_below(*written[m]) ||
         in.lies_in_changeable(path) || in.lies_in_changeable(*written[m]);
}

// The cost grows with the bytes of the paths, not with the square of their number.
std::vector<std::string> Pod::overlaps() const {
  const auto with_models = containers();
  std::vector<std::string> found;
  for (std::size_t m = 0; m < workload.mounts.size(); ++m) {
    if (shows_processes(workload.mounts[m])) {
      continue;  // every container has a /proc
    }
    const auto at = with_models.find(workload.mounts[m].container);
    const bool reserved = !is_model(m) && paths[m] && allowed_paths.reserve(*paths[m]);
    if (reserved || (at != with_models.end() && overlaps(m, at->second))) {
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
      found.push_back(
          describe(workload.mounts[m]) +
          (workload.mounts[m].read_only ? ": read-only, but not what is mounted below it" : ""));
    }
    if (reaches_filled(workload.mounts[m])) {
      found.push_back(workload.mounts[m].container + ": sees the processes that fill a volume (" +
                      workload.mounts[m].source + ")");
    }
  }
  for (const ContainerImage& one : workload.images) {
    if (any && one.remounts) {
      found.push_back(one.container + ": may mount again what is mounted read-only");
    }
  }
  return found;
}

// What containers have of a model that is only a part of it.
std::vector<std::string> Pod::within() const {
  std::vector<std::string> found = mounted.within;
  for (const Mount& mount : workload.mounts) {
    if (is_filled(mount) && mount.part != "" && !shows_wrong_part(mount)) {
      found.push_back(describe(mount) + mount.part.value_or(""));
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
  const auto demand_none = [&](const char* what, Reason code,
                               const std::vector<std::string>& found) {
    checks.demand(found.empty(), code);
    if (!found.empty()) {
      result.actual[what] = shown_texts(found);
    }
  };
  bool undecided = false;
  demand_none("unaccounted", Reason::kVolumeUnaccounted, pod.unaccounted(undecided));
  demand_none("overlaps", Reason::kMountOverlaps, pod.overlaps());
  demand_none("elsewhere", Reason::kMountPathNotAllowed, pod.elsewhere());
  demand_none("writable", Reason::kMountWritable, pod.writable());
  if (undecided) {
    checks.undecided();
  }
  if (const auto within = pod.within(); !within.empty()) {
    result.actual["within"] = shown_texts(within);
  }
  checks.conclude(result);
  return result;
}

}  // namespace assay::policy
