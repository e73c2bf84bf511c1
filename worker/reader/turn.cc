// SPDX-License-Identifier: Apache-2.0
#include "worker/reader/turn.h"

namespace assay::worker {

using gpu_hash::DeviceMemory;
using gpu_hash::HashRequest;
using gpu_hash::ObjectDigests;
using gpu_hash::Region;
using gpu_hash::TagKey;

bool Turn::wait(const std::stop_token& stop, const Progress& waits) {
  std::unique_lock lock(mutex_);
  const auto place = waiting_.insert(waiting_.end(), &waits);
  const auto is_next = [&] { return !taken_ && place == waiting_.begin(); };
  const bool free = changed_.wait(lock, stop, is_next) && !stop.stop_requested();
  waiting_.erase(place);
  taken_ = taken_ || free;
  changed_.notify_all();  // another one may be the first now
  return free;
}

void Turn::release() {
  const std::scoped_lock lock(mutex_);
  taken_ = false;
  changed_.notify_all();
}

void Turn::progress() {
  const std::scoped_lock lock(mutex_);
  for (const Progress* const waits : waiting_) {
    (*waits)();
  }
}

void EngineInTurn::get_on() const {
  progress_();
  turn_.progress();
}

HashRequest EngineInTurn::with_progress(HashRequest request) const {
  request.progress = [this](std::uint64_t) { get_on(); };
  return request;
}

Result<std::vector<ObjectDigests>> EngineInTurn::hash(std::span<const Region> regions,
                                                      const HashRequest& request) {
  return turn_.take(stop_, progress_,
                    [&] { return engine_.hash(regions, with_progress(request)); });
}

Result<std::shared_ptr<const DeviceMemory>> EngineInTurn::import_memory(Descriptor fd,
                                                                        std::uint64_t size) {
  return turn_.take(stop_, progress_, [&] {
    get_on();
    return engine_.import_memory(std::move(fd), size);
  });
}

Result<std::vector<ObjectDigests>> EngineInTurn::hash_tagged(
    std::span<const Region> regions, const HashRequest& request, const TagKey& key,
    std::vector<std::vector<Digest>>& tags) {
  return turn_.take(stop_, progress_, [&] {
    return engine_.hash_tagged(regions, with_progress(request), key, tags);
  });
}

Result<std::vector<std::vector<Digest>>> EngineInTurn::tags(std::span<const Region> regions,
                                                            const HashRequest& request,
                                                            const TagKey& key) {
  return turn_.take(stop_, progress_,
                    [&] { return engine_.tags(regions, with_progress(request), key); });
}

}  // namespace assay::worker
