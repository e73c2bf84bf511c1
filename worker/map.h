// SPDX-License-Identifier: Apache-2.0
// Maps locations (schemas/location.h) to directories of this node. Only the node's own
// configuration decides the mapping. A job names locations and pods, never a path.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/job.h"

namespace assay::worker {

// One --map LOCATION=DIR[,volume=NAME]: DIR holds what lies at LOCATION and below it.
struct LocationMap {
  std::string location;  // a location, or the beginning of one up to a '/'
  std::filesystem::path directory;
  std::string volume{};  // volume of the claim in `location`; empty: taken from the mount
};
// Parses a map. Errors: usage when LOCATION is neither a location nor the beginning of one, when
// DIR is not absolute, when NAME is not the name of a volume, or when LOCATION names no claim but
// NAME is given.
[[nodiscard]] Result<LocationMap> parse_location_map(std::string_view text);

// The file or directory to read for a job.
struct Place {
  std::filesystem::path base;  // chosen by the node
  std::string below{};   // path below `base`, in the form of artifact paths; empty: `base` itself
  std::string volume{};  // volume of a pvc:// location; empty: not known
};

class NodeMap {
 public:
  // `kubelet` is the kubelet's root directory. `mounts` is a file in the format of
  // /proc/self/mountinfo.
  NodeMap(std::vector<LocationMap> maps, std::filesystem::path kubelet,
          std::filesystem::path mounts = "/proc/self/mountinfo");

  // Finds the place of `location` by the map with the longest LOCATION that contains it. With
  // `pod`, finds the mount of `location` in that pod instead. Errors: location-unmapped,
  // pod-volume-missing.
  [[nodiscard]] Result<Place> find(const std::string& location,
                                   const std::optional<JobPod>& pod) const;

 private:
  [[nodiscard]] Result<Place> mapped(const std::string& location) const;
  [[nodiscard]] Result<Place> in_pod(const std::string& location, const JobPod& pod) const;

  std::vector<LocationMap> maps_;
  std::filesystem::path kubelet_;
  std::filesystem::path mounts_;
};

// Returns the name of the kubelet's volume that contains `directory`. Uses the mount whose mount
// point is the longest path that contains `directory`; of several mounts at that point, the last
// one. Empty unless the mount point or the mounted directory has the form
// ".../volumes/kubernetes.io~<plugin>/<volume>[/mount]". `mounts` is the text of
// /proc/self/mountinfo.
[[nodiscard]] std::string mounted_volume(std::string_view mounts,
                                         const std::filesystem::path& directory);

// Returns the file or directory of `place` on this node. No symbolic link may occur below `base`.
// Errors: invalid-path when `below` does not have the form of artifact paths, or when a part of it
// is a link; not-found when `below` does not exist; file-unreadable.
[[nodiscard]] Result<std::filesystem::path> resolve_place(const Place& place);

}  // namespace assay::worker
