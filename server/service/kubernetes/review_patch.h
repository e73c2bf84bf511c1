// SPDX-License-Identifier: Apache-2.0
// What mutation changes in a pod that is being made, as RFC 6902 operations.
#pragma once

#include "server/service/decisions/decide.h"
#include "server/service/kubernetes/pod.h"

namespace assay::server {

// Takes every annotation of ours out of the pod but the one that names its model. With a decision:
// that one is pinned to the artifacts decided on, and the decision's id is noted. Whatever the pod
// says itself of a decision does not stay.
[[nodiscard]] Json annotation_patch(const PodView& pod, const Decision* decision);

// Requires `labels` of the pod's node; nothing when it does so already.
[[nodiscard]] Json affinity_patch(const PodView& pod,
                                  const std::map<std::string, std::vector<std::string>>& labels);

// Gives image volumes named by a tag the digest that `models` have under that repository, as every
// policy believes that selects the workload, and changes `pod` likewise. A volume for which they
// leave no digest or several is left alone.
[[nodiscard]] Result<Json> image_patch(Services& services, storage::Snapshot& snapshot,
                                       const std::vector<DecidedModel>& models,
                                       const policy::Workload& workload, Timestamp now,
                                       PodView& pod);

// True when an image volume has no digest.
[[nodiscard]] bool has_unpinned_image(const PodView& pod);

}  // namespace assay::server
