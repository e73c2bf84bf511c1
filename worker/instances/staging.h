// SPDX-License-Identifier: Apache-2.0
// Hashes memory that only its owner (owner.h) can read: staged pieces. The owner copies this memory
// into a window (docs/instances.md), one part after the other, so the agent needs little memory.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "gpu_hash/engine.h"
#include "schemas/instance.h"
#include "worker/instances/owner.h"

namespace assay::worker {

// Returns the digests of `tensors` in order, as Engine::hash() does. The caller must pass
// only tensors whose parts all lie in staged pieces of the owner's registration. `window` is the
// number of bytes of memory to use: a power of two, at least the chunk size and at most
// kStagingWindow. Errors: those of Owner::read_staged() and Engine::hash(); invalid-parameter for
// any other `window`; cancelled.
[[nodiscard]] Result<std::vector<gpu_hash::ObjectDigests>> hash_staged(
    Owner& owner, gpu_hash::Engine& engine, std::span<const InstanceTensor* const> tensors,
    const gpu_hash::HashRequest& request, std::uint64_t window = kStagingWindow);

}  // namespace assay::worker
