// SPDX-License-Identifier: Apache-2.0
#include "server/service/kubernetes/runtime_annotations.h"

#include <algorithm>
#include <array>
#include <set>

#include "schemas/core/json_at.h"

namespace assay::server {
namespace {

// Ends of the domains of annotations. Those of more CDI come first: "cdi-devices.nri.io" ends like
// the next ones.
constexpr std::array<std::string_view, 5> kCdi = {".cdi.k8s.io", "cdi-devices.nri.io",
                                                  "cdi-devices.noderesource.dev", "cdi.nri.io",
                                                  "cdi.noderesource.dev"};
constexpr std::array<std::string_view, 3> kDevices = {"devices.nri.io", "devices.noderesource.dev",
                                                      "devices.gke.io"};
constexpr std::array<std::string_view, 2> kMounts = {"mounts.nri.io", "mounts.noderesource.dev"};
// Of mounts that annotations make. No member of a volume has this name.
constexpr std::string_view kSource = "annotation";
// CRI-O has an old and a new name for devices.
constexpr std::array<std::string_view, 2> kCrioDevices = {"io.kubernetes.cri-o.Devices",
                                                          "devices.crio.io"};
// By which schedulers of GPU shares give a pod a part of one.
constexpr std::array<std::string_view, 3> kShares = {"gpu-fraction", "gpu-memory",
                                                     "gpu-fraction-num-devices"};

template <std::size_t N>
bool has_end_of(std::string_view domain, const std::array<std::string_view, N>& ends) {
  return std::any_of(ends.begin(), ends.end(),
                     [&](std::string_view end) { return domain.ends_with(end); });
}

}  // namespace

RuntimeAnnotations runtime_annotations(const PodView& pod) {
  RuntimeAnnotations found;
  for (const auto& [key, value] : object_at(pod.metadata, "annotations").items()) {
    const std::string_view domain = std::string_view(key).substr(0, key.find('/'));
    if (domain == "cdi.k8s.io" || has_end_of(domain, kCdi)) {
      found.cdi = true;
    } else if (has_end_of(domain, kDevices) ||
               std::ranges::find(kCrioDevices, key) != kCrioDevices.end()) {
      found.devices = true;
    } else if (std::ranges::find(kShares, key) != kShares.end()) {
      found.shares = true;
    } else if (has_end_of(domain, kMounts)) {
      found.mounts = true;
    }
  }
  return found;
}

void add_to(policy::Workload& workload, const RuntimeAnnotations& annotations) {
  std::set<std::string_view> known;
  for (const policy::Mount& mount : workload.mounts) {
    if (mount.source == kSource) {
      known.insert(mount.container);
    }
  }
  std::vector<policy::Mount> added;
  for (policy::ContainerImage& image : workload.images) {
    image.remounts = image.remounts || annotations.devices;
    if (annotations.mounts && !known.contains(image.container)) {
      policy::Mount mount;
      mount.container = image.container;
      mount.path = "..";
      mount.source = kSource;
      added.push_back(std::move(mount));
    }
  }
  workload.mounts.insert(workload.mounts.end(), added.begin(), added.end());
}

}  // namespace assay::server
