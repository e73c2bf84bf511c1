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
// the device in batches, which take up to three queues in turn (scratch.h). `batch_bytes` is
// EngineOptions::batch_bytes, but not 0: with 24 MiB and chunks of 16 KiB a batch is 4 GiB of
// data, which is twice what an H200 works on at a time. A batch needs more than `batch_bytes` with
// chunks above 512 KiB. The buffers of a batch stay allocated for the next call, up to
// `batch_bytes` each. Errors: as Engine::hash().
[[nodiscard]] Result<ResidentResult> hash_resident(const ClSession& session, ClKernels& kernels,
                                                   ResidentScratch& scratch,
                                                   std::span<const Region> regions,
                                                   const HashRequest& request, ResidentWork work,
                                                   const TagKey* key, std::uint64_t batch_bytes);

}  // namespace assay::gpu_hash
