// SPDX-License-Identifier: Apache-2.0
// How much device memory is hashed at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "gpu_hash/engine.h"
#include "gpu_hash/opencl/resident.h"

namespace assay::gpu_hash {

inline constexpr std::uint64_t kTagBytes = 16;  // of one tag
// Chunks of the tree over tags. Small, because there are few: with 4 KiB each work-item would hash
// 64 blocks one after the other while most of the device has nothing to do.
inline constexpr std::uint32_t kTagChunk = 512;

// The size of batches, and the number of queues that they take in turn. All queues together use the
// same memory.
struct Batches {
  std::uint32_t segment;  // chunks that one digest covers at most
  std::uint32_t slots;    // chunks of a batch at most
  std::size_t queues;     // at most kBatchQueues
  std::uint64_t kept;     // bytes of a buffer that is kept for the next call
};

// Returns the batches for objects of these sizes. Segments are the same for all work, because those
// with tags and of tags must agree. `batch_bytes` is as for hash_resident().
[[nodiscard]] Batches batches_of(ResidentWork work, std::span<const std::uint64_t> sizes,
                                 const HashRequest& request, std::uint64_t batch_bytes);

}  // namespace assay::gpu_hash
