// SPDX-License-Identifier: Apache-2.0
// Hashes memory that only its owner (owner.h) can read. The owner copies it into a window
// (docs/instances.md), one part after the other, so the agent needs little memory.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "gpu_hash/engine.h"
#include "schemas/instance.h"
#include "worker/instances/owner.h"

namespace assay::worker {

// Returns the digests of `tensors` in order, as Engine::hash() does. All their parts must lie in
// staged pieces of the owner's registration. Needs `window` bytes of memory: a power of two from
// the chunk size to kStagingWindow. Errors: those of Owner::read_staged() and Engine::hash();
// invalid-parameter for another `window`; cancelled.
[[nodiscard]] Result<std::vector<gpu_hash::ObjectDigests>> hash_staged(
    Owner& owner, gpu_hash::Engine& engine, std::span<const InstanceTensor* const> tensors,
    const gpu_hash::HashRequest& request, std::uint64_t window = kStagingWindow);

}  // namespace assay::worker
