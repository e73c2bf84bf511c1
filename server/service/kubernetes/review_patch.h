// SPDX-License-Identifier: Apache-2.0
// The changes that mutation makes in a new pod, as RFC 6902 operations.
#pragma once

#include "server/service/decisions/decide.h"
#include "server/service/kubernetes/pod.h"

namespace assay::server {

// Returns the operations that set the annotations with kAnnotationPrefix. All but the annotation
// that names the model are removed. Unless `decision` is null, the model annotation is pinned to
// the decided artifacts and the decision's id is noted. A decision id that the pod brings along is
// never kept.
[[nodiscard]] Json annotation_patch(const PodView& pod, const Decision* decision);

// Returns the operations that require `labels` of the pod's node. Empty when the pod requires them
// already.
[[nodiscard]] Json affinity_patch(const PodView& pod,
                                  const std::map<std::string, std::vector<std::string>>& labels);

// Adds a digest to image volumes that are named by a tag. The digest is that of `models` under the
// same repository, as believed by every policy that selects the workload. Changes `pod` in the same
// way. A volume with no such digest, or with several, stays as it is.
[[nodiscard]] Result<Json> image_patch(Services& services, storage::Snapshot& snapshot,
                                       const std::vector<DecidedModel>& models,
                                       const policy::Workload& workload, Timestamp now,
                                       PodView& pod);

// Returns true when an image volume has no digest.
[[nodiscard]] bool has_unpinned_image(const PodView& pod);

}  // namespace assay::server
