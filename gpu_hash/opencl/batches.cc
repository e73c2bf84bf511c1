// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/opencl/batches.h"

#include <algorithm>

namespace assay::gpu_hash {
namespace {

// Chunks of a batch at least, however large the chunks are: fewer leave most of a device idle.
constexpr std::uint32_t kFewestSlots = 1U << 15;
// Chunks of a batch at most.
constexpr std::uint64_t kMostSlots = 1U << 23;

std::uint32_t segment_of(HashAlgorithm algorithm, std::uint32_t chunk_size,
                         std::uint64_t batch_bytes) {
  const std::uint64_t tags = std::uint64_t{chunk_size / kTagBlock} * kTagBytes;
  const std::uint64_t slots = batch_bytes / (digest_size(algorithm) + tags);
  return std::max(static_cast<std::uint32_t>(std::min(slots, kMostSlots)), kFewestSlots);
}

}  // namespace

// Batches end with kernels that use a part of the device only. So those of tags alone are few and
// large: one, where that is enough for all of the call, or else in two queues. Without tags, more
// chunks fit into half of the memory.
Batches batches_of(ResidentWork work, std::span<const std::uint64_t> sizes,
                   const HashRequest& request, std::uint64_t batch_bytes) {
  const std::uint64_t chunk_size = request.parameters.chunk_size;
  const std::uint64_t width = digest_size(request.parameters.hash);
  const std::uint32_t segment =
      segment_of(request.parameters.hash, request.parameters.chunk_size, batch_bytes);
  if (work == ResidentWork::kHash) {
    const std::uint64_t possible = std::min(batch_bytes / 2 / width, kMostSlots);
    return {segment, std::max(static_cast<std::uint32_t>(possible), segment), kBatchQueues,
            batch_bytes};
  }
  std::uint64_t chunks = 0;
  for (const std::uint64_t size : sizes) {
    chunks += size / chunk_size + (size % chunk_size == 0 ? 0 : 1);
  }
  const std::uint64_t all = kBatchQueues * batch_bytes;
  const std::uint64_t tags = chunk_size / kTagBlock * kTagBytes;  // of a chunk
  const std::uint64_t of_a_chunk = tags + tags * width / kTagChunk;
  if (work == ResidentWork::kTags && chunks > segment) {
    for (const std::uint64_t queues : {1U, 2U}) {
      const std::uint64_t possible = std::min(all / queues / of_a_chunk, kMostSlots);
      if (possible > segment && (chunks <= possible || queues == 2)) {
        return {segment, static_cast<std::uint32_t>(std::min(chunks, possible)), queues,
                all / queues};
      }
    }
  }
  return {segment, segment, kBatchQueues, batch_bytes};
}

}  // namespace assay::gpu_hash
