// SPDX-License-Identifier: Apache-2.0
// Pinned host memory (pinned.h) for data on their way to an OpenCL device. Threads fill some blocks
// while the device reads others. The blocks are few and small, so that the bytes that a thread
// wrote are still in the processor's caches when the device reads them. Copies therefore cause
// little traffic in host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gpu_hash/opencl/device.h"
#include "gpu_hash/opencl/pinned.h"

namespace assay::gpu_hash {

// The blocks of staging memory. Not thread-safe, but different blocks may be written by different
// threads.
class ClStaging {
 public:
  // Allocates `blocks` blocks of `block_bytes` bytes each. Errors: device-failed.
  [[nodiscard]] static Result<ClStaging> create(const ClSession& session, std::uint64_t block_bytes,
                                                std::size_t blocks);
  [[nodiscard]] std::size_t size() const { return blocks_.size(); }
  [[nodiscard]] std::uint64_t block_bytes() const { return block_bytes_; }
  [[nodiscard]] std::span<std::uint8_t> block(std::size_t i) {
    return blocks_.at(i).memory.bytes();
  }

  // Enqueues the copy of the first `size` bytes of block `i` to `offset` of `target`. The block
  // must not change before wait(i) returns. The caller owns the returned event.
  [[nodiscard]] Result<ClEvent> send(const ClSession& session, cl_command_queue queue,
                                     std::size_t i, std::uint64_t size, cl_mem target,
                                     std::uint64_t offset);
  // Waits for the copy of block `i`, if it is still running.
  [[nodiscard]] Status wait(const ClSession& session, std::size_t i);
  // Forgets all copies. No copy may be in flight.
  void clear();

 private:
  struct Block {
    PinnedMemory memory{};
    ClEvents copy{};
  };

  std::uint64_t block_bytes_ = 0;
  std::vector<Block> blocks_{};
};

}  // namespace assay::gpu_hash
