// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/opencl/staging.h"

#include <utility>

namespace assay::gpu_hash {

Result<ClStaging> ClStaging::create(const ClSession& session, std::uint64_t block_bytes,
                                    std::size_t blocks) {
  ClStaging staging;
  staging.block_bytes_ = block_bytes;
  while (staging.blocks_.size() < blocks) {
    // A buffer for each block: drivers know memory as pinned by the buffer that it belongs to.
    Block block;
    ASSAY_ASSIGN(block.memory, PinnedMemory::create(session, block_bytes));
    staging.blocks_.push_back(std::move(block));
  }
  return staging;
}

Result<ClEvent> ClStaging::send(const ClSession& session, cl_command_queue queue, std::size_t i,
                                std::uint64_t size, cl_mem target, std::uint64_t offset) {
  Block& block = blocks_.at(i);
  cl_event event = nullptr;
  ASSAY_TRY(session.check("clEnqueueWriteBuffer",
                          clEnqueueWriteBuffer(queue, target, CL_FALSE, offset, size,
                                               block.memory.bytes().data(), 0, nullptr, &event)));
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
