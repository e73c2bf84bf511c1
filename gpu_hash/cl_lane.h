// SPDX-License-Identifier: Apache-2.0
// One of the lanes of an OpenCL engine: staging memory, device memory and a queue. While the device
// works on one lane, the host fills the next.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu_hash/cl_device.h"
#include "gpu_hash/cl_kernels.h"
#include "gpu_hash/cl_tables.h"
#include "gpu_hash/slice_layout.h"

namespace assay::gpu_hash {

// Not thread-safe.
class ClLane {
 public:
  // `bytes` of data per launch, and `slots` chunks.
  [[nodiscard]] static Result<ClLane> create(const ClSession& session, std::uint64_t bytes,
                                             std::uint32_t slots, std::uint32_t levels);
  ~ClLane();
  ClLane(ClLane&&) noexcept = default;
  ClLane& operator=(ClLane&&) = delete;

  // Host memory that the next launch's data go into. Pinned where the driver offers it.
  [[nodiscard]] std::span<std::uint8_t> staging() { return staging_; }

  // Starts copy, kernels and the way back for `layout`, whose data are in staging(). Layout and
  // staging must not change before wait() or drain().
  [[nodiscard]] Status submit(const ClSession& session, const ClKernels& kernels,
                              const SliceLayout& layout, std::uint32_t chunk_size);
  [[nodiscard]] bool busy() const { return busy_; }
  // Waits for what was submitted: one digest per segment.
  [[nodiscard]] Result<std::vector<Digest>> wait(const ClSession& session, HashAlgorithm algorithm);
  // Waits and forgets, whatever came of it.
  void drain();

 private:
  ClLane(ClQueue queue, ClTables tables) : queue_(std::move(queue)), tables_(std::move(tables)) {}

  ClQueue queue_;
  ClTables tables_;
  ClBuffer pinned_;
  ClBuffer data_;
  ClEvents events_;
  std::span<std::uint8_t> staging_;
  bool busy_ = false;
};

}  // namespace assay::gpu_hash
