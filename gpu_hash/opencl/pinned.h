// SPDX-License-Identifier: Apache-2.0
// Host memory that an OpenCL device copies from and to without the driver's help.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "gpu_hash/opencl/device.h"

namespace assay::gpu_hash {

// Mapped for reading and writing as long as it lives. Nothing may be in flight when it goes.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  // device-failed.
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
