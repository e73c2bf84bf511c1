// SPDX-License-Identifier: Apache-2.0
// Where on this node a location lies. Only the node's own configuration says so: a job names
// locations and pods, never a path.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/job.h"

namespace assay::worker {

// One --map LOCATION=DIR[,volume=NAME]: what lies at LOCATION or below it lies in DIR.
struct LocationMap {
  std::string location;  // a location, or the beginning of one up to a '/'
  std::filesystem::path directory;
  std::string volume{};  // behind the claim that `location` names; empty: the mount tells
};
// usage: LOCATION is no such beginning, DIR is not absolute, NAME is no name of a volume or
// LOCATION names no claim.
[[nodiscard]] Result<LocationMap> parse_location_map(std::string_view text);

// What to read for a job.
struct Place {
  std::filesystem::path base;  // chosen by the node
  std::string below{};         // the rest, as in artifact paths; empty: `base` itself
  std::string volume{};        // of a pvc:// location; empty when it is not known
};

class NodeMap {
 public:
  // `kubelet` is the kubelet's root directory; `mounts` is a file in the format of
  // /proc/self/mountinfo.
  NodeMap(std::vector<LocationMap> maps, std::filesystem::path kubelet,
          std::filesystem::path mounts = "/proc/self/mountinfo");

  // By the longest map that covers the location; for a job about a pod that pod's own mount.
  // location-unmapped, pod-volume-missing.
  [[nodiscard]] Result<Place> find(const std::string& location,
                                   const std::optional<JobPod>& pod) const;

 private:
  [[nodiscard]] Result<Place> mapped(const std::string& location) const;
  [[nodiscard]] Result<Place> in_pod(const std::string& location, const JobPod& pod) const;

  std::vector<LocationMap> maps_;
  std::filesystem::path kubelet_;
  std::filesystem::path mounts_;
};

// The volume that the kubelet mounted where `directory` lies, by the last mount that covers it:
// ".../volumes/kubernetes.io~<plugin>/<volume>[/mount]" as the place of the mount, or as the
// directory that was mounted there. Empty when neither has this form. `mounts` is the text of
// /proc/self/mountinfo.
[[nodiscard]] std::string mounted_volume(std::string_view mounts,
                                         const std::filesystem::path& directory);

// What `place` is on this node: the file or directory, reached through no symbolic link below
// `base`. invalid-path when `below` is no path as in artifacts, or a part of it is a link;
// not-found when nothing is there below `base`; file-unreadable.
[[nodiscard]] Result<std::filesystem::path> resolve_place(const Place& place);

}  // namespace assay::worker
