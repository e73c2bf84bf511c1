// SPDX-License-Identifier: Apache-2.0
// Device memory of one launch besides the data: the tables of a SliceLayout, the digests, the
// roots.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu_hash/cl_device.h"
#include "gpu_hash/cl_kernels.h"
#include "gpu_hash/slice_layout.h"

namespace assay::gpu_hash {

// Not thread-safe. What is enqueued uses memory of this object: the queue must have finished before
// it is destroyed, moved or used again.
class ClTables {
 public:
  struct Capacity {
    std::uint32_t segments;
    std::uint32_t slots;
    std::uint32_t levels;
  };

  [[nodiscard]] static Result<ClTables> create(const ClSession& session, const Capacity& capacity);

  // Enqueues the copy of the tables to the device. The layout must not change until it has run.
  [[nodiscard]] Status upload(const ClSession& session, cl_command_queue queue,
                              const SliceLayout& layout, ClEvents& events);
  // Enqueues the kernels over what was uploaded.
  [[nodiscard]] Status compute(const ClSession& session, cl_command_queue queue,
                               const ClKernels& kernels, cl_mem data, std::uint32_t chunk_size,
                               ClEvents& events);
  // Enqueues the copy of the roots to the host.
  [[nodiscard]] Status download(const ClSession& session, cl_command_queue queue,
                                const ClKernels& kernels, ClEvents& events);
  // One digest per segment, once the queue has finished.
  [[nodiscard]] std::vector<Digest> roots(HashAlgorithm algorithm) const;

 private:
  struct Level {
    std::uint32_t table_begin;
    std::uint32_t pairs;
    std::uint32_t level;
  };

  ClTables() = default;

  Capacity capacity_{};
  ClBuffer extents_;
  ClBuffer first_slot_;
  ClBuffer first_pair_;
  ClBuffer digests_;
  ClBuffer roots_;
  std::uint32_t segments_ = 0;
  std::uint32_t slots_ = 0;
  std::vector<Level> levels_;
  std::vector<std::uint32_t> pair_tables_;  // on their way to first_pair_
  Bytes host_roots_;                        // on their way from roots_
};

}  // namespace assay::gpu_hash
