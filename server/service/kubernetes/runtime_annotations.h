// SPDX-License-Identifier: Apache-2.0
// Annotations by which plugins of container runtimes give containers more than their volumes do.
#pragma once

#include "server/service/kubernetes/pod.h"

namespace assay::server {

// What annotations of a pod may add to its containers.
struct RuntimeAnnotations {
  bool cdi = false;      // devices described on the node
  bool devices = false;  // any device file of the node, block devices included
  bool mounts = false;   // any directory of the node, anywhere in a container
};

// Reads all annotations of the pod. An annotation counts for every container, whichever containers
// its value names.
[[nodiscard]] RuntimeAnnotations runtime_annotations(const PodView& pod);

// Adds the effect of `annotations` to every container of the workload. Devices allow a container to
// mount volumes again. Mounts add one mount that may hold a model, at an unknown path ("..").
// Calling it again adds nothing.
void add_to(policy::Workload& workload, const RuntimeAnnotations& annotations);

}  // namespace assay::server
