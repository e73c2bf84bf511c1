// SPDX-License-Identifier: Apache-2.0
// Annotations by which plugins of container runtimes add to containers what no volume says.
#pragma once

#include "server/service/kubernetes/pod.h"

namespace assay::server {

struct RuntimeAnnotations {
  bool cdi = false;      // devices that the node describes
  bool devices = false;  // any device file of the node, block devices included
  bool mounts = false;   // any directory of the node, anywhere in a container
};

// One look at all annotations of the pod. Which containers their values are about does not count.
[[nodiscard]] RuntimeAnnotations runtime_annotations(const PodView& pod);

// In every container: devices let it mount again, mounts are one more that may hold a model, at a
// path that is not known (".."). Once, however often it is asked.
void add_to(policy::Workload& workload, const RuntimeAnnotations& annotations);

}  // namespace assay::server
