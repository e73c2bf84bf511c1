// SPDX-License-Identifier: Apache-2.0
// Who asked for a pod, as the API server says: facts for the conditions `request` of policies.
#pragma once

#include "policy/facts.h"
#include "server/service/kubernetes/pod.h"
#include "server/service/kubernetes/review.h"

namespace assay::server {

// Limits on a user and the user's groups. What exceeds them is not known.
inline constexpr std::size_t kMaxUserBytes = 1024;
inline constexpr std::size_t kMaxUserGroups = 256;
inline constexpr std::size_t kMaxGroupBytes = 16U << 10;  // all groups together

// Returns what the review says about who asked for `pod`. User and groups are known only when the
// review creates a Pod: whoever updates a pod did not ask for it, and pods of a template are
// created by a controller. The service account is known when the pod names it, as every pod that
// the API server admits does; a template without a name gives its pods the account "default".
[[nodiscard]] policy::Requester requester_of(const Review& review, const PodView& pod);

}  // namespace assay::server
