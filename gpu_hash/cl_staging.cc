// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/cl_staging.h"

#include <utility>

namespace assay::gpu_hash {

Result<ClStaging> ClStaging::create(const ClSession& session, std::uint64_t block_bytes,
                                    std::size_t blocks) {
  ASSAY_ASSIGN(ClQueue queue, session.make_queue());
  ClStaging staging(std::move(queue), block_bytes);
  while (staging.blocks_.size() < blocks) {
    // A buffer for each block: drivers know memory as pinned by the buffer that it belongs to.
    Block block;
    ASSAY_ASSIGN(block.buffer,
                 session.make_buffer(CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, block_bytes));
    cl_int error = CL_SUCCESS;
    void* memory =
        clEnqueueMapBuffer(staging.queue_.get(), block.buffer.get(), CL_TRUE,
                           CL_MAP_READ | CL_MAP_WRITE, 0, block_bytes, 0, nullptr, nullptr, &error);
    ASSAY_TRY(session.check("clEnqueueMapBuffer", error));
    block.memory = {static_cast<std::uint8_t*>(memory), block_bytes};
    staging.blocks_.push_back(std::move(block));
  }
  return staging;
}

ClStaging::~ClStaging() {
  if (queue_ == nullptr) {
    return;  // moved from, or never made
  }
  for (Block& block : blocks_) {
    clEnqueueUnmapMemObject(queue_.get(), block.buffer.get(), block.memory.data(), 0, nullptr,
                            nullptr);
  }
  clFinish(queue_.get());
}

Result<ClEvent> ClStaging::send(const ClSession& session, cl_command_queue queue, std::size_t i,
                                std::uint64_t size, cl_mem target, std::uint64_t offset) {
  Block& block = blocks_.at(i);
  cl_event event = nullptr;
  ASSAY_TRY(session.check("clEnqueueWriteBuffer",
                          clEnqueueWriteBuffer(queue, target, CL_FALSE, offset, size,
                                               block.memory.data(), 0, nullptr, &event)));
  block.copy.add(event);
  ASSAY_TRY(session.check("clFlush", clFlush(queue)));
  clRetainEvent(event);
  return ClEvent(event);
}

Status ClStaging::wait(const ClSession& session, std::size_t i) {
  return blocks_.at(i).copy.wait(session);
}

void ClStaging::clear() {
  for (Block& block : blocks_) {
    block.copy.clear();
  }
}

}  // namespace assay::gpu_hash
