// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/opencl/scratch.h"

namespace assay::gpu_hash {
namespace {

// Buffers up to this size are kept for the next call: making and freeing those for 112 GiB took a
// twentieth of a pass over their tags.
constexpr std::uint64_t kKeptBytes = std::uint64_t{512} << 20;
// Host memory is kept when the digests among it take no more than this.
constexpr std::uint64_t kKeptHostBytes = std::uint64_t{8} << 20;

}  // namespace

Result<cl_mem> ResidentScratch::get(const ClSession& session, Role role, std::uint64_t size) {
  Slot& slot = slots_[role];
  if (slot.size < size) {
    slot = {};
    ASSAY_ASSIGN(slot.buffer, session.make_buffer(CL_MEM_READ_WRITE, size));
    slot.size = size;
  }
  return slot.buffer.get();
}

Result<std::uint8_t*> ResidentScratch::roots(const ClSession& session, std::uint64_t size) {
  if (roots_.bytes().size() < size) {
    roots_ = {};
    ASSAY_ASSIGN(roots_, PinnedMemory::create(session, size));
  }
  return roots_.bytes().data();
}

Result<cl_command_queue> ResidentScratch::queue(const ClSession& session, std::size_t number) {
  ClQueue& queue = queues_.at(number);
  if (queue == nullptr) {
    ASSAY_ASSIGN(queue, session.make_queue());
  }
  return queue.get();
}

void ResidentScratch::finish() {
  for (const ClQueue& queue : queues_) {
    if (queue != nullptr) {
      clFinish(queue.get());
    }
  }
}

void ResidentScratch::trim() {
  batch_.clear();  // it points at memory of the caller
  if (roots_.bytes().size() > kKeptHostBytes) {
    batch_ = {};
    tables_ = {};
    roots_ = {};
  }
  for (Slot& slot : slots_) {
    if (slot.size > kKeptBytes) {
      slot = {};
    }
  }
}

}  // namespace assay::gpu_hash
