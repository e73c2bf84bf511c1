// SPDX-License-Identifier: Apache-2.0
// Hashes device memory in place. The memory may be the engine's own or imported. It may consist of
// thousands of buffers, and one object may span several buffers.
#pragma once

#include <span>
#include <vector>

#include "gpu_hash/engine.h"
#include "gpu_hash/opencl/device.h"
#include "gpu_hash/opencl/kernels.h"
#include "gpu_hash/opencl/scratch.h"
#include "gpu_hash/tags.h"

namespace assay::gpu_hash {

enum class ResidentWork : std::uint8_t { kHash, kHashAndTags, kTags };

struct ResidentResult {
  std::vector<ObjectDigests> digests;          // empty for kTags
  std::vector<std::vector<Digest>> tag_roots;  // by region; empty for kHash
};

// Returns true when `regions` have at least one piece and all pieces are device memory. Errors:
// invalid-parameter when device memory and other pieces are mixed, or when the memory belongs to
// another engine.
[[nodiscard]] Result<bool> is_resident(const ClSession& session, std::span<const Region> regions);

// Hashes regions of device memory. `key` is needed for tags and may otherwise be null. Work goes to
// the device in batches, of which the device has up to three (scratch.h) at a time: of 8 GiB of
// data each with chunks of 16 KiB, or 4 GiB with tags. A batch needs about 24 MiB of device memory, more with chunks
// above 512 KiB, and its buffers stay allocated for the next call up to that size. Errors: as
// Engine::hash().
[[nodiscard]] Result<ResidentResult> hash_resident(const ClSession& session, ClKernels& kernels,
                                                   ResidentScratch& scratch,
                                                   std::span<const Region> regions,
                                                   const HashRequest& request, ResidentWork work,
                                                   const TagKey* key);

}  // namespace assay::gpu_hash
