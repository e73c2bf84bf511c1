// SPDX-License-Identifier: Apache-2.0
// The pods that were admitted and not deleted since, in order of cluster and uid, without a
// judgement.
#pragma once

#include <string>

#include "server/service/services.h"
#include "storage/pod_store.h"

namespace assay::server {

// Returns the text that stands for a pod in `after` and `next` of a list of pods.
[[nodiscard]] std::string pod_place(const storage::PodKey& key);
// Reads what pod_place() wrote; the first pod for an empty text. Errors: invalid-parameter.
[[nodiscard]] Result<storage::PodKey> pod_behind(const std::string& place);

// One more is read, so that the last page names no next one; the store gives a thousand at a time.
inline constexpr std::size_t kMaxPodsListed = 999;

// Returns up to `limit` pods behind `after` as {"items"}, with "next" when pods are left. An item
// is what pod_view() (pod_judge.h) gives, with "names" of its models, "admitted_at", and
// "decision", the newest one that allowed it, when a policy selected it. `limit` is 1 to
// kMaxPodsListed.
// Errors: invalid-parameter for an `after` that no answer gave; those of the store.
[[nodiscard]] Result<Json> list_pods(Services& services, storage::Snapshot& snapshot,
                                     const std::string& after, std::size_t limit);

}  // namespace assay::server
