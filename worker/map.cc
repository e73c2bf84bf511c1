// SPDX-License-Identifier: Apache-2.0
#include "worker/map.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "schemas/claim.h"
#include "schemas/core/artifact.h"
#include "schemas/location.h"

namespace assay::worker {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kVolumeOption = ",volume=";
constexpr std::string_view kPluginPrefix = "kubernetes.io~";
constexpr std::string_view kCsiPlugin = "kubernetes.io~csi";
// Volumes of these kinds hold what the pod or the API server put there: never what a location
// names.
constexpr std::array<std::string_view, 5> kOwnVolumes = {
    "kubernetes.io~empty-dir", "kubernetes.io~configmap", "kubernetes.io~secret",
    "kubernetes.io~projected", "kubernetes.io~downward-api"};

std::unexpected<Error> usage(const char* why, std::string_view text) {
  return fail(ErrorCode::kUsage, why, std::string(text));
}

// The one spelling of a location, or of its beginning up to a '/'.
Result<std::string> normalise_beginning(std::string_view text) {
  while (text.ends_with('/') && !text.ends_with("://")) {
    text.remove_suffix(1);
  }
  if (auto whole = normalise_location(text)) {
    return whole;
  }
  const std::string digest(64, '0');
  for (const std::string& more :
       {std::string("/x"), std::string("x/y"), "/" + digest, "@sha256:" + digest,
        "/x@sha256:" + digest, "x/y@sha256:" + digest}) {
    if (auto longer = normalise_location(std::string(text) + more)) {
      longer->resize(longer->size() - more.size());
      return longer;
    }
  }
  return usage("--map begins with a location or the beginning of one, such as pvc://inference",
               text);
}

// What `location` has after `beginning`: empty when they are equal; nothing when it does not begin
// so, or goes on within a part.
std::optional<std::string> rest_of(std::string_view location, std::string_view beginning) {
  if (!location.starts_with(beginning)) {
    return std::nullopt;
  }
  std::string_view rest = location.substr(beginning.size());
  if (!rest.empty() && !beginning.ends_with('/')) {
    if (rest.front() != '/') {
      return std::nullopt;
    }
    rest.remove_prefix(1);
  } else if (rest.starts_with('/')) {
    rest.remove_prefix(1);
  }
  return std::string(rest);
}

// mountinfo writes blank, tab, newline and backslash as three octal digits.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](std::size_t at) { return static_cast<unsigned>(text[at] - '0'); };
    if (text[i] == '\\' && i + 3 < text.size() && digit(i + 1) < 4 && digit(i + 2) < 8 &&
        digit(i + 3) < 8) {
      out += static_cast<char>(digit(i + 1) * 64 + digit(i + 2) * 8 + digit(i + 3));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

// The volume that a path of the kubelet's is about; empty for any other path, and for volumes that
// have no claim.
std::string volume_in(const fs::path& path) {
  std::vector<std::string> parts;
  for (const fs::path& part : path) {
    parts.push_back(part.string());
  }
  if (parts.size() > 1 && parts.back() == "mount") {
    parts.pop_back();
  }
  const std::size_t count = parts.size();
  const bool kubelets = count > 3 && parts[count - 3] == "volumes" &&
                        parts[count - 2].starts_with(kPluginPrefix) &&
                        std::ranges::find(kOwnVolumes, parts[count - 2]) == kOwnVolumes.end();
  return kubelets && check_volume_name(parts[count - 1]) ? parts[count - 1] : std::string();
}

bool covers(const fs::path& directory, const fs::path& path) {
  const auto [end, rest] =
      std::mismatch(directory.begin(), directory.end(), path.begin(), path.end());
  return end == directory.end() || (std::next(end) == directory.end() && end->empty());
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::unexpected<Error> no_volume(const char* why, const JobPod& pod) {
  return fail(ErrorCode::kPodVolumeMissing, why, pod.uid + "/" + pod.volume);
}

}  // namespace

Result<LocationMap> parse_location_map(std::string_view text) {
  const std::size_t split = text.find("=/");
  if (split == std::string_view::npos) {
    return usage("--map has the form LOCATION=/DIR", text);
  }
  std::string_view directory = text.substr(split + 1);
  LocationMap map;
  if (const std::size_t option = directory.rfind(kVolumeOption); option != std::string_view::npos) {
    map.volume = directory.substr(option + kVolumeOption.size());
    directory = directory.substr(0, option);
    if (!check_volume_name(map.volume)) {
      return usage("--map names a volume as Kubernetes does", text);
    }
  }
  ASSAY_ASSIGN(map.location, normalise_beginning(text.substr(0, split)));
  map.directory = fs::path(directory);
  if (!map.volume.empty() && !claim_in(map.location)) {
    return usage("Only --map of one claim, pvc://NAMESPACE/CLAIM, names its volume", text);
  }
  return map;
}

NodeMap::NodeMap(std::vector<LocationMap> maps, fs::path kubelet, fs::path mounts)
    : maps_(std::move(maps)), kubelet_(std::move(kubelet)), mounts_(std::move(mounts)) {}

Result<Place> NodeMap::find(const std::string& location, const std::optional<JobPod>& pod) const {
  return pod ? in_pod(location, *pod) : mapped(location);
}

Result<Place> NodeMap::mapped(const std::string& location) const {
  const LocationMap* best = nullptr;
  std::string below;
  for (const LocationMap& map : maps_) {
    const std::optional<std::string> rest = rest_of(location, map.location);
    if (rest && (best == nullptr || map.location.size() > best->location.size())) {
      best = &map;
      below = *rest;
    }
  }
  if (best == nullptr) {
    return fail(ErrorCode::kLocationUnmapped, "No --map covers this location", location);
  }
  Place place{best->directory, std::move(below), best->volume};
  if (place.volume.empty() && claim_in(location)) {
    std::error_code error;
    const fs::path real = fs::weakly_canonical(place.base / place.below, error);
    place.volume = error ? std::string() : mounted_volume(text_of(mounts_), real);
  }
  return place;
}

Result<Place> NodeMap::in_pod(const std::string& location, const JobPod& pod) const {
  // Neither means anything in a path.
  ASSAY_TRY(check_pod_uid(pod.uid));
  ASSAY_TRY(check_volume_name(pod.volume));
  const fs::path volumes = kubelet_ / "pods" / pod.uid / "volumes";
  std::error_code error;
  std::error_code trouble;  // that leaves open what is there
  const auto note = [&] {
    if (error && error != std::errc::no_such_file_or_directory &&
        error != std::errc::not_a_directory) {
      trouble = error;
    }
    error.clear();
  };
  std::vector<fs::path> found;
  for (fs::directory_iterator at(volumes, error), end; !error && at != end; at.increment(error)) {
    const std::string plugin = at->path().filename().string();
    const bool own = std::ranges::find(kOwnVolumes, plugin) != kOwnVolumes.end();
    const fs::path volume = at->path() / pod.volume;
    const fs::path mount = plugin == kCsiPlugin ? volume / "mount" : volume;
    if (plugin.starts_with(kPluginPrefix) && (location.empty() || !own) &&
        fs::is_directory(fs::symlink_status(mount, error))) {
      found.push_back(mount);
    }
    note();
  }
  note();
  if (trouble) {
    return fail(ErrorCode::kFileUnreadable, "The volumes of this pod: " + trouble.message(),
                pod.uid);
  }
  if (found.size() != 1) {
    return no_volume(found.empty() ? "The kubelet has no such volume of this pod mounted"
                                   : "Several volumes of this pod have this name",
                     pod);
  }
  const std::optional<Claim> claim = claim_in(location);
  Place place{kubelet_ / "pods", {}, {}};
  place.below = found.front().lexically_relative(place.base).generic_string();
  if (claim) {
    place.below += claim->below.empty() ? "" : "/" + claim->below;
    place.volume = pod.volume;
  }
  return place;
}

std::string mounted_volume(std::string_view mounts, const fs::path& directory) {
  std::string volume;
  std::size_t longest = 0;
  std::istringstream lines{std::string(mounts)};
  for (std::string line; std::getline(lines, line);) {
    // ID PARENT MAJOR:MINOR ROOT PLACE ...
    std::istringstream fields(line);
    std::array<std::string, 5> field;
    for (std::string& one : field) {
      fields >> one;
    }
    const fs::path place = unescaped(field[4]);
    if (!fields || !place.is_absolute() || !covers(place, directory)) {
      continue;
    }
    const std::size_t length = place.native().size();
    if (length >= longest) {
      longest = length;
      volume = volume_in(place);
      volume = volume.empty() ? volume_in(unescaped(field[3])) : volume;
    }
  }
  return volume;
}

Result<fs::path> resolve_place(const Place& place) {
  if (!place.below.empty()) {
    ASSAY_TRY(check_path(place.below));
  }
  std::error_code error;
  fs::path base = fs::canonical(place.base, error);
  if (error) {
    return fail(ErrorCode::kFileUnreadable, "The directory of the location: " + error.message(),
                place.base.string());
  }
  if (place.below.empty()) {
    return base;
  }
  const fs::path wanted = base / place.below;
  fs::path real = fs::canonical(wanted, error);
  if (error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory) {
    return fail(ErrorCode::kNotFound, "Nothing is there", place.below);
  }
  if (error) {
    return fail(ErrorCode::kFileUnreadable, error.message(), place.below);
  }
  if (real != wanted) {
    return fail(ErrorCode::kInvalidPath, "The path leads through a symbolic link", place.below);
  }
  return real;
}

}  // namespace assay::worker
