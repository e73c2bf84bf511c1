// SPDX-License-Identifier: Apache-2.0
// Hashing of memory that lies on the device, in place: its own buffers or imported ones, thousands
// of them, objects that run across them.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "gpu_hash/cl_device.h"
#include "gpu_hash/cl_kernels.h"
#include "gpu_hash/engine.h"
#include "gpu_hash/launch_tables.h"
#include "gpu_hash/resident_plan.h"
#include "gpu_hash/tags.h"

namespace assay::gpu_hash {

enum class ResidentWork : std::uint8_t { kHash, kHashAndTags, kTags };

struct ResidentResult {
  std::vector<ObjectDigests> digests;          // not of kTags
  std::vector<std::vector<Digest>> tag_roots;  // by region; not of kHash
};

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
  // Host memory for plans and what comes back, of the same kind.
  [[nodiscard]] ResidentBatch& batch() { return batch_; }
  [[nodiscard]] LaunchTables& tables() { return tables_; }
  [[nodiscard]] Bytes& roots() { return roots_; }
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
  Bytes roots_{};
};

// True when all pieces of `regions` are device memory and there is one. invalid-parameter when
// device memory and other pieces are mixed, or when it is another engine's.
[[nodiscard]] Result<bool> is_resident(const ClSession& session, std::span<const Region> regions);

// Hashes regions of device memory. `key` is needed for tags. Needs device memory of about 40 bytes
// a chunk (and 4 more a KiB with tags), for at most 2^23 chunks at a time; up to 512 MiB of each
// kind stay for the next call. Errors as Engine::hash().
[[nodiscard]] Result<ResidentResult> hash_resident(const ClSession& session, ClKernels& kernels,
                                                   ResidentScratch& scratch,
                                                   std::span<const Region> regions,
                                                   const HashRequest& request, ResidentWork work,
                                                   const TagKey* key);

}  // namespace assay::gpu_hash
