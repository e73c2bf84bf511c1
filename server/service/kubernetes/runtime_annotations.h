// SPDX-License-Identifier: Apache-2.0
// Annotations by which plugins of container runtimes give containers devices and mounts that are
// not in the pod's spec.
#pragma once

#include "server/service/kubernetes/pod.h"

namespace assay::server {

// What annotations of a pod may add to its containers.
struct RuntimeAnnotations {
  bool cdi = false;      // devices described on the node
  bool devices = false;  // any device file of the node, block devices included
  bool mounts = false;   // any directory of the node, anywhere in a container
  bool shares = false;   // a part of a GPU, given by the cluster's scheduler
};

// Reads all annotations of the pod. The result applies to every container, whichever containers an
// annotation names.
[[nodiscard]] RuntimeAnnotations runtime_annotations(const PodView& pod);

// Adds the effect of `annotations` to every container of the workload. With `devices`, every
// container may be able to mount its volumes again as writable (accelerators.h). With `mounts`,
// every container gets one more mount, at an unknown path (".."), that may contain a model. A
// second call with the same arguments changes nothing.
void add_to(policy::Workload& workload, const RuntimeAnnotations& annotations);

}  // namespace assay::server
