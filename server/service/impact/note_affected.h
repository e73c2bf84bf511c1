// SPDX-License-Identifier: Apache-2.0
// Records in the log which pods a revocation left without their allow.
#pragma once

#include "server/service/services.h"

namespace assay::server {

// Limits on the pods that one record is about, and on those that it names.
inline constexpr std::size_t kMaxPodsNoted = 20'000;
inline constexpr std::size_t kMaxPodsNamed = 64;

// Judges the pods that are known as things stand now, at most `most` of them, and appends
// one record (`pods.affected`, schemas/log.md) when at least one would be denied for a revocation
// or a withdrawal: of anything that the answer rests on, also of what its models were made from.
// Returns the number of these pods. Meant for a thread of its own: a request never waits for this,
// and this for no question about impact. Errors: those of affected_pods_out_of_turn()
// (pod_impact.h).
[[nodiscard]] Result<std::uint64_t> note_affected(Services& services,
                                                  std::size_t most = kMaxPodsNoted);

// Returns up to which revocation the newest of these records looked at the pods; 0 without one. As
// note_affected() writes none when no pod would be denied, later ones can have been looked at, too.
// Errors: data-loss; those of the store.
[[nodiscard]] Result<std::uint64_t> noted_revocations(storage::Snapshot& snapshot);

}  // namespace assay::server
