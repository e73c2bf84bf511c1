// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/opencl/pinned.h"

namespace assay::gpu_hash {

Result<PinnedMemory> PinnedMemory::create(const ClSession& session, std::uint64_t size) {
  PinnedMemory pinned;
  ASSAY_ASSIGN(pinned.queue_, session.make_queue());
  ASSAY_ASSIGN(pinned.buffer_,
               session.make_buffer(CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, size));
  cl_int error = CL_SUCCESS;
  void* memory =
      clEnqueueMapBuffer(pinned.queue_.get(), pinned.buffer_.get(), CL_TRUE,
                         CL_MAP_READ | CL_MAP_WRITE, 0, size, 0, nullptr, nullptr, &error);
  ASSAY_TRY(session.check("clEnqueueMapBuffer", error));
  pinned.bytes_ = {static_cast<std::uint8_t*>(memory), size};
  return pinned;
}

PinnedMemory& PinnedMemory::operator=(PinnedMemory&& other) noexcept {
  if (this != &other) {
    unmap();
    queue_ = std::move(other.queue_);
    buffer_ = std::move(other.buffer_);
    bytes_ = std::exchange(other.bytes_, {});
  }
  return *this;
}

void PinnedMemory::unmap() {
  if (!bytes_.empty()) {
    clEnqueueUnmapMemObject(queue_.get(), buffer_.get(), bytes_.data(), 0, nullptr, nullptr);
    clFinish(queue_.get());
    bytes_ = {};
  }
}

}  // namespace assay::gpu_hash
