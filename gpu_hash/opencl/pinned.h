// SPDX-License-Identifier: Apache-2.0
// Host memory that an OpenCL device copies from and to by itself, without help from the driver.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "gpu_hash/opencl/device.h"

namespace assay::gpu_hash {

// Pinned memory that stays mapped for reading and writing while this object lives. No copy may be
// in flight when it is destroyed.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  // Allocates and maps `size` bytes. Errors: device-failed.
  [[nodiscard]] static Result<PinnedMemory> create(const ClSession& session, std::uint64_t size);
  ~PinnedMemory() { unmap(); }
  PinnedMemory(PinnedMemory&& other) noexcept { *this = std::move(other); }
  PinnedMemory& operator=(PinnedMemory&& other) noexcept;

  [[nodiscard]] std::span<std::uint8_t> bytes() const { return bytes_; }

 private:
  void unmap();

  ClQueue queue_{};  // for mapping
  ClBuffer buffer_{};
  std::span<std::uint8_t> bytes_{};
};

}  // namespace assay::gpu_hash
