// SPDX-License-Identifier: Apache-2.0
// The OpenCL engine itself. Internal to this folder; others see it as an Engine (cl_engine.h).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "gpu_hash/cl_device.h"
#include "gpu_hash/cl_kernels.h"
#include "gpu_hash/cl_lane.h"
#include "gpu_hash/dispatch.h"
#include "gpu_hash/engine.h"
#include "gpu_hash/fold.h"

namespace assay::gpu_hash {

class ClEngine final : public Engine {
 public:
  [[nodiscard]] static Result<std::unique_ptr<ClEngine>> open(ClDevice device,
                                                              const EngineOptions& options,
                                                              KernelCache cache);

  [[nodiscard]] const EngineInfo& info() const override { return info_; }
  [[nodiscard]] Result<std::vector<ObjectDigests>> hash(std::span<const Region> regions,
                                                        const HashRequest& request) override;

  [[nodiscard]] const ClSession& session() const { return session_; }
  [[nodiscard]] std::uint64_t slice_bytes() const { return slice_bytes_; }
  // Kernels that have passed the self-test; good as long as the engine. Callers other than hash()
  // must not share the engine between threads.
  [[nodiscard]] Result<const ClKernels*> kernels(HashAlgorithm algorithm);

 private:
  class Run;

  ClEngine(ClSession session, const EngineOptions& options, KernelCache cache,
           std::uint64_t slice_bytes);
  [[nodiscard]] Status make_lanes();
  [[nodiscard]] Status test(const ClKernels& kernels, HashAlgorithm algorithm);
  [[nodiscard]] Result<std::vector<ObjectDigests>> run(const ClKernels& kernels,
                                                       std::span<const Region> regions,
                                                       const HashRequest& request,
                                                       std::uint32_t alignment);

  // One that the host fills, one on its way to the device, one that is hashed: with two, copying
  // and hashing waited for each other (35 instead of 50 GB/s on an H200).
  static constexpr std::size_t kLanes = 3;

  EngineInfo info_;
  ClSession session_;
  KernelCache cache_;
  unsigned threads_;
  std::uint64_t slice_bytes_;
  std::mutex mutex_;                                // guards what follows
  std::vector<ClLane> lanes_;                       // kLanes, once there was something to hash
  std::array<std::optional<ClKernels>, 2> tested_;  // by algorithm
};

}  // namespace assay::gpu_hash
