// SPDX-License-Identifier: Apache-2.0
// One lane of an OpenCL engine: device memory and a queue. While the device works on one lane, data
// are copied into other lanes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu_hash/opencl/device.h"
#include "gpu_hash/opencl/kernels.h"
#include "gpu_hash/opencl/pinned.h"
#include "gpu_hash/opencl/staging.h"
#include "gpu_hash/tree/launch_tables.h"
#include "gpu_hash/tree/slice_layout.h"
#include "schemas/core/digest.h"

namespace assay::gpu_hash {

// One lane. Not thread-safe.
class ClLane {
 public:
  // Makes a lane for at most `bytes` bytes of data and `slots` chunks per launch, in trees of at
  // most `levels` levels.
  [[nodiscard]] static Result<ClLane> create(const ClSession& session, std::uint64_t bytes,
                                             std::uint32_t slots, std::uint32_t levels);
  ~ClLane();
  ClLane(ClLane&&) noexcept = default;
  ClLane& operator=(ClLane&&) = delete;

  // Starts the copy of a staging block to `offset` of the lane's data.
  [[nodiscard]] Status receive(const ClSession& session, ClStaging& staging, std::size_t block,
                               std::uint64_t size, std::uint64_t offset);
  // Starts the kernels for `layout`, whose data have been received, and the copy of the results to
  // host memory.
  [[nodiscard]] Status submit(const ClSession& session, ClKernels& kernels,
                              const SliceLayout& layout, std::uint32_t chunk_size);
  [[nodiscard]] bool busy() const { return busy_; }
  // Waits for the submitted work and returns one digest per segment.
  [[nodiscard]] Result<std::vector<Digest>> wait(const ClSession& session, HashAlgorithm algorithm);
  // Waits for the submitted work and drops its results and errors.
  void drain();

 private:
  explicit ClLane(ClQueue queue) : queue_(std::move(queue)) {}
  [[nodiscard]] std::span<std::uint8_t> memory() const { return pinned_.bytes(); }

  ClQueue queue_;
  ClBuffer data_;     // the data, followed by the tables
  ClBuffer digests_;  // a digest per slot
  ClBuffer roots_;    // a digest per segment
  ClEvents events_;
  LaunchTables tables_;
  PinnedMemory pinned_;  // host memory for tables and roots
  std::uint64_t data_bytes_ = 0;
  std::uint64_t tables_bytes_ = 0;
  std::uint32_t segments_ = 0;
  bool busy_ = false;
};

}  // namespace assay::gpu_hash
