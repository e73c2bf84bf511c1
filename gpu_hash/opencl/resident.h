// SPDX-License-Identifier: Apache-2.0
// Hashing of memory that lies on the device, in place: its own buffers or imported ones, thousands
// of them, objects that run across them.
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
  std::vector<ObjectDigests> digests;          // not of kTags
  std::vector<std::vector<Digest>> tag_roots;  // by region; not of kHash
};

// True when all pieces of `regions` are device memory and there is one. invalid-parameter when
// device memory and other pieces are mixed, or when it is another engine's.
[[nodiscard]] Result<bool> is_resident(const ClSession& session, std::span<const Region> regions);

// Hashes regions of device memory. `key` is needed for tags. Needs device memory of about 40 bytes
// a chunk (and 4 more a KiB with tags), for at most 2^23 chunks at a time; up to 512 MiB of each
// kind stay for the next call. Errors as Engine::hash().
[[nodiscard]] Result<ResidentResult> hash_resident(const ClSession& session, ClKernels& kernels,
                                                   ResidentScratch& scratch,
                                                   std::span<const Region> regions,
                                                   const HashRequest& request, ResidentWork work,
                                                   const TagKey* key);

}  // namespace assay::gpu_hash
