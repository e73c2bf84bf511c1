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

// What one batch uses of the device: buffers and an in-order queue. The next batch in the same
// queue may be enqueued before this one has finished. Kept for later batches, so that small calls
// do not wait for allocations.
class BatchScratch {
 public:
  enum Role : std::size_t { kTables, kDigests, kRoots, kSide, kTagSums, kKey, kRoles };

  // Returns a buffer of at least `size` bytes. Its former content is lost, after the commands that
  // are enqueued already.
  [[nodiscard]] Result<cl_mem> get(const ClSession& session, Role role, std::uint64_t size);
  [[nodiscard]] Result<cl_command_queue> queue(const ClSession& session);
  // Overwrites the buffer of the key if there is one, and waits for that.
  void wipe_key();
  // Waits until the queue has finished its work.
  void finish();
  // Frees buffers of more than `kept` bytes. No work may be in flight. (Making and freeing the
  // buffers for 112 GiB took a twentieth of a pass over their tags.)
  void trim(std::uint64_t kept);

 private:
  struct Slot {
    ClBuffer buffer{};
    std::uint64_t size = 0;
  };
  std::array<Slot, kRoles> slots_{};
  ClQueue queue_{};
};

// What one batch uses of the host until its results are taken. Without this reuse, a call with
// 10,000 objects spent most of its time on new pages of host memory.
class BatchPlace {
 public:
  // Returns host memory for plans.
  [[nodiscard]] ResidentBatch& batch() { return batch_; }
  [[nodiscard]] LaunchTables& tables() { return tables_; }
  // Returns host memory for results, at least `size` bytes.
  [[nodiscard]] Result<std::uint8_t*> roots(const ClSession& session, std::uint64_t size);
  // Clears the batch and frees large memory. No work may be in flight.
  void trim();

 private:
  ResidentBatch batch_{};
  LaunchTables tables_{};
  PinnedMemory roots_{};
};

// Batches of a call take the queues in turn, so that other batches fill the device where one is
// ending and uses only a part of it.
inline constexpr std::size_t kBatchQueues = 3;
// So many batches are enqueued at a time: a queue has its next batch before the last one has ended.
// Devices prefer the many work-groups of later batches to the few with which a batch ends. So
// several batches end together, and if the host had to see that first, the device would wait for it
// (on an H200, 1 % of a full pass and 5 % of one over tags alone).
inline constexpr std::size_t kBatchesAhead = 2 * kBatchQueues;

struct ResidentScratch {
  std::array<BatchScratch, kBatchQueues> queues{};
  std::array<BatchPlace, kBatchesAhead> places{};

  // Trims all of them. No work may be in flight.
  void trim(std::uint64_t kept);
};

}  // namespace assay::gpu_hash
