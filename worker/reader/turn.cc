// SPDX-License-Identifier: Apache-2.0
#include "worker/reader/turn.h"

namespace assay::worker {

using gpu_hash::DeviceMemory;
using gpu_hash::HashRequest;
using gpu_hash::ObjectDigests;
using gpu_hash::Region;
using gpu_hash::TagKey;

HashRequest EngineInTurn::with_progress(HashRequest request) const {
  request.progress = [this](std::uint64_t) { progress_(); };
  return request;
}

Result<std::vector<ObjectDigests>> EngineInTurn::hash(std::span<const Region> regions,
                                                      const HashRequest& request) {
  return turn_.take(stop_, [&] { return engine_.hash(regions, with_progress(request)); });
}

Result<std::shared_ptr<const DeviceMemory>> EngineInTurn::import_memory(Descriptor fd,
                                                                        std::uint64_t size) {
  return turn_.take(stop_, [&] {
    progress_();
    return engine_.import_memory(std::move(fd), size);
  });
}

Result<std::vector<ObjectDigests>> EngineInTurn::hash_tagged(
    std::span<const Region> regions, const HashRequest& request, const TagKey& key,
    std::vector<std::vector<Digest>>& tags) {
  return turn_.take(
      stop_, [&] { return engine_.hash_tagged(regions, with_progress(request), key, tags); });
}

Result<std::vector<std::vector<Digest>>> EngineInTurn::tags(std::span<const Region> regions,
                                                            const HashRequest& request,
                                                            const TagKey& key) {
  return turn_.take(stop_, [&] { return engine_.tags(regions, with_progress(request), key); });
}

}  // namespace assay::worker
