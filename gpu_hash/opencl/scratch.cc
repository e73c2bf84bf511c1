// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/opencl/scratch.h"

namespace assay::gpu_hash {
namespace {

// Host memory is kept when the digests among it take no more than this.
constexpr std::uint64_t kKeptHostBytes = std::uint64_t{8} << 20;

}  // namespace

Result<cl_mem> BatchScratch::get(const ClSession& session, Role role, std::uint64_t size) {
  Slot& slot = slots_[role];
  if (slot.size < size) {
    slot = {};
    ASSAY_ASSIGN(slot.buffer, session.make_buffer(CL_MEM_READ_WRITE, size));
    slot.size = size;
  }
  return slot.buffer.get();
}

Result<cl_command_queue> BatchScratch::queue(const ClSession& session) {
  if (queue_ == nullptr) {
    ASSAY_ASSIGN(queue_, session.make_queue());
  }
  return queue_.get();
}

void BatchScratch::wipe_key() {
  const Slot& key = slots_[kKey];
  if (key.buffer != nullptr && queue_ != nullptr) {
    const std::uint32_t zero = 0;
    clEnqueueFillBuffer(queue_.get(), key.buffer.get(), &zero, sizeof(zero), 0, key.size, 0,
                        nullptr, nullptr);
    clFinish(queue_.get());
  }
}

void BatchScratch::finish() {
  if (queue_ != nullptr) {
    clFinish(queue_.get());
  }
}

void BatchScratch::trim(std::uint64_t kept) {
  for (Slot& slot : slots_) {
    if (slot.size > kept) {
      slot = {};
    }
  }
}

Result<std::uint8_t*> BatchPlace::roots(const ClSession& session, std::uint64_t size) {
  if (roots_.bytes().size() < size) {
    roots_ = {};
    ASSAY_ASSIGN(roots_, PinnedMemory::create(session, size));
  }
  return roots_.bytes().data();
}

void ResidentScratch::trim(std::uint64_t kept) {
  for (BatchScratch& one : queues) {
    one.trim(kept);
  }
  for (BatchPlace& one : places) {
    one.trim();
  }
}

void BatchPlace::trim() {
  batch_.clear();  // it points at memory of the caller
  if (roots_.bytes().size() > kKeptHostBytes) {
    batch_ = {};
    tables_ = {};
    roots_ = {};
  }
}

}  // namespace assay::gpu_hash
