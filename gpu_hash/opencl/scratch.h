// SPDX-License-Identifier: Apache-2.0
// Buffers, queues and plans that hashing of device memory keeps from one call to the next.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "gpu_hash/opencl/device.h"
#include "gpu_hash/opencl/pinned.h"
#include "gpu_hash/resident/plan.h"
#include "gpu_hash/tree/launch_tables.h"

namespace assay::gpu_hash {

// What one batch uses while it is on the device: buffers, an in-order queue, and host memory. Kept
// for later batches, so that small calls do not wait for allocations. Without this reuse, a call
// with 10,000 objects spent most of its time on new pages of host memory.
class BatchScratch {
 public:
  enum Role : std::size_t { kTables, kDigests, kRoots, kSide, kTagSums, kKey, kRoles };

  // Returns a buffer of at least `size` bytes. Its former content is lost.
  [[nodiscard]] Result<cl_mem> get(const ClSession& session, Role role, std::uint64_t size);
  [[nodiscard]] Result<cl_command_queue> queue(const ClSession& session);
  // Returns host memory for plans, which is reused in the same way.
  [[nodiscard]] ResidentBatch& batch() { return batch_; }
  [[nodiscard]] LaunchTables& tables() { return tables_; }
  // Returns host memory for results, at least `size` bytes.
  [[nodiscard]] Result<std::uint8_t*> roots(const ClSession& session, std::uint64_t size);
  // Overwrites the buffer of the key if there is one, and waits for that.
  void wipe_key();
  // Waits until the queue has finished its work.
  void finish();
  // Frees buffers of more than `kept` bytes and clears the batch. No work may be in flight. (Making
  // and freeing the buffers for 112 GiB took a twentieth of a pass over their tags.)
  void trim(std::uint64_t kept);

 private:
  struct Slot {
    ClBuffer buffer{};
    std::uint64_t size = 0;
  };
  std::array<Slot, kRoles> slots_{};
  ClQueue queue_{};
  ResidentBatch batch_{};
  LaunchTables tables_{};
  PinnedMemory roots_{};
};

// Batches of a call take these in turn. The device therefore always has the next batch when one
// batch is ending and uses only a part of the device.
inline constexpr std::size_t kBatchesAtOnce = 3;
using ResidentScratch = std::array<BatchScratch, kBatchesAtOnce>;

}  // namespace assay::gpu_hash
