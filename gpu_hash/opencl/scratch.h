// SPDX-License-Identifier: Apache-2.0
// What the hashing of device memory keeps from one call to the next: buffers, queues, plans.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "gpu_hash/opencl/device.h"
#include "gpu_hash/opencl/pinned.h"
#include "gpu_hash/resident/plan.h"
#include "gpu_hash/tree/launch_tables.h"

namespace assay::gpu_hash {

// Memory that calls use one after the other, so that small ones do not wait for it to be made: on
// the host, touching new pages took most of the time for 10,000 objects.
class ResidentScratch {
 public:
  enum Role : std::size_t { kTables, kDigests, kRoots, kSide, kTagSums, kRoles };

  // Queues that launches of a call take in turn, so that the end of one, when it leaves most of the
  // device idle, overlaps the begin of the next.
  static constexpr std::size_t kQueues = 2;

  // A buffer of at least `size` bytes; what it held is lost.
  [[nodiscard]] Result<cl_mem> get(const ClSession& session, Role role, std::uint64_t size);
  [[nodiscard]] Result<cl_command_queue> queue(const ClSession& session, std::size_t number = 0);
  // Host memory for plans, of the same kind.
  [[nodiscard]] ResidentBatch& batch() { return batch_; }
  [[nodiscard]] LaunchTables& tables() { return tables_; }
  // And for what comes back, at least `size` bytes.
  [[nodiscard]] Result<std::uint8_t*> roots(const ClSession& session, std::uint64_t size);
  // Waits until no queue has anything in flight.
  void finish();
  // Lets go of what is large, and forgets the batch. Nothing may be in flight.
  void trim();

 private:
  struct Slot {
    ClBuffer buffer{};
    std::uint64_t size = 0;
  };
  std::array<Slot, kRoles> slots_{};
  std::array<ClQueue, kQueues> queues_{};
  ResidentBatch batch_{};
  LaunchTables tables_{};
  PinnedMemory roots_{};
};

}  // namespace assay::gpu_hash
