// SPDX-License-Identifier: Apache-2.0
// Hashing of memory that only its owner can read: window by window, in bounded memory.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "gpu_hash/engine.h"
#include "schemas/instance.h"
#include "worker/instances/owner.h"

namespace assay::worker {

// Digests of these tensors of the owner's registration, whose parts are all staged, in order, as
// Engine::hash() gives them. Needs `window` bytes of memory (a power of two, a multiple of the
// chunk size, at most kStagingWindow). Errors: of the owner and the engine, invalid-parameter,
// cancelled.
[[nodiscard]] Result<std::vector<gpu_hash::ObjectDigests>> hash_staged(
    Owner& owner, gpu_hash::Engine& engine, std::span<const InstanceTensor* const> tensors,
    const gpu_hash::HashRequest& request, std::uint64_t window = kStagingWindow);

}  // namespace assay::worker
