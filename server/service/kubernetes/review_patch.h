// SPDX-License-Identifier: Apache-2.0
// The changes that mutation makes in a new pod, as RFC 6902 operations.
#pragma once

#include "server/service/decisions/decide.h"
#include "server/service/kubernetes/pod.h"

namespace assay::server {

// Returns the operations that set the annotations with kAnnotationPrefix. All annotations with this
// prefix are removed, except the one that names the model. Unless `decision` is null, the model
// annotation gets the ids of the decided artifacts, and an annotation with the decision's id is
// added.
[[nodiscard]] Json annotation_patch(const PodView& pod, const Decision* decision);

// Returns the operations that require `labels` of the pod's node. Empty when the pod requires them
// already.
[[nodiscard]] Json affinity_patch(const PodView& pod,
                                  const std::map<std::string, std::vector<std::string>>& labels);

// Returns the operations that add a digest to image volumes without one, and changes `pod` in the
// same way. The digest is that of a location of `models` in the same repository that every policy
// selecting the workload accepts. If there is no such digest, or more than one, the volume is
// unchanged.
[[nodiscard]] Result<Json> image_patch(Services& services, storage::Snapshot& snapshot,
                                       const std::vector<DecidedModel>& models,
                                       const policy::Workload& workload, Timestamp now,
                                       PodView& pod);

// Returns true when an image volume has no digest.
[[nodiscard]] bool has_unpinned_image(const PodView& pod);

}  // namespace assay::server
