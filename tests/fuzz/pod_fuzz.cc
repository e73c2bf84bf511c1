// SPDX-License-Identifier: Apache-2.0
// Any JSON as an object that runs pods: reading it ends, every mount of every container is there,
// locations have their one spelling, and the workload survives its document.
#include "server/service/kubernetes/pod.h"

#include <algorithm>
#include <cstdlib>

#include "policy/processes.h"
#include "schemas/location.h"
#include "server/service/kubernetes/accelerators.h"
#include "server/service/kubernetes/pod_volumes.h"

namespace {

using namespace assay;

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

std::size_t elements(const Json& container, const char* list) {
  return container.is_object() && container.contains(list) && container[list].is_array()
             ? container[list].size()
             : 0;
}

std::size_t mounts_in(const Json& spec) {
  std::size_t count = 0;
  for (const std::string_view list : server::kContainerLists) {
    if (spec.contains(list) && spec[list].is_array()) {
      for (const Json& container : spec[list]) {
        count += elements(container, "volumeMounts") + elements(container, "volumeDevices");
      }
    }
  }
  return count;
}

void check(const server::PodView& pod) {
  const auto workload = server::workload_of(pod, "prod");
  if (!workload) {
    return;
  }
  // A container that sees the processes of others has one mount more (policy/processes.h).
  const auto processes = std::ranges::count_if(workload->mounts, policy::shows_processes);
  require(workload->pod &&
          workload->mounts.size() - static_cast<std::size_t>(processes) == mounts_in(pod.spec));
  require(workload->accelerators.size() <= server::kMaxWays);
  for (const policy::Mount& mount : workload->mounts) {
    require(mount.path.starts_with('/'));
    require(mount.location.empty() || normalise_location(mount.location) == mount.location);
    require(mount.location.empty() || mount.kind == policy::VolumeKind::kModel);
  }
  const std::string document = canonical_json(policy::to_json(*workload)).value();
  const auto stored = policy::workload_from_json(parse_json(document).value());
  require(stored && canonical_json(policy::to_json(*stored)).value() == document);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto json = parse_json(ByteView(data, size));
  if (!json) {
    return 0;
  }
  for (const char* kind : {"Pod", "Deployment", "StatefulSet", "CronJob"}) {
    if (const auto pod = server::pod_of(kind, *json)) {
      check(*pod);
    }
  }
  return 0;
}
