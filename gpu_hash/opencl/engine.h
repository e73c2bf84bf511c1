// SPDX-License-Identifier: Apache-2.0
// The OpenCL engine. Internal to this folder; other code sees it as an Engine (opencl.h).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "gpu_hash/dispatch.h"
#include "gpu_hash/engine.h"
#include "gpu_hash/opencl/derive.h"
#include "gpu_hash/opencl/device.h"
#include "gpu_hash/opencl/kernels.h"
#include "gpu_hash/opencl/lane.h"
#include "gpu_hash/opencl/memory.h"
#include "gpu_hash/opencl/resident.h"
#include "gpu_hash/opencl/staging.h"
#include "schemas/posix/descriptor.h"

namespace assay::gpu_hash {

class ClEngine final : public Engine {
 public:
  // What the last call did: whether the data was device memory, and which kernel variant was used.
  struct Path {
    bool resident = false;
    std::string_view variant;
  };

  [[nodiscard]] static Result<std::unique_ptr<ClEngine>> open(ClDevice device,
                                                              const EngineOptions& options,
                                                              KernelCache cache);

  [[nodiscard]] const EngineInfo& info() const override { return info_; }
  [[nodiscard]] Result<std::vector<ObjectDigests>> hash(std::span<const Region> regions,
                                                        const HashRequest& request) override;
  [[nodiscard]] DeriveRoom derive_room() const override { return kDeviceDeriveRoom; }
  [[nodiscard]] Result<Derived> derive(const DeriveRequest& derivation,
                                       const HashRequest& request) override;
  [[nodiscard]] Imports imports() const override;
  [[nodiscard]] Result<std::shared_ptr<const DeviceMemory>> import_memory(
      Descriptor fd, std::uint64_t size) override;
  [[nodiscard]] Result<std::vector<ObjectDigests>> hash_tagged(
      std::span<const Region> regions, const HashRequest& request, const TagKey& key,
      std::vector<std::vector<Digest>>& tags) override;
  [[nodiscard]] Result<std::vector<std::vector<Digest>>> tags(std::span<const Region> regions,
                                                              const HashRequest& request,
                                                              const TagKey& key) override;

  [[nodiscard]] const ClSession& session() const { return session_; }
  [[nodiscard]] std::uint64_t slice_bytes() const { return slice_bytes_; }
  [[nodiscard]] Path last_path() const { return last_path_; }
  // Allocates device memory of the engine, for tests and benchmarks.
  [[nodiscard]] Result<std::shared_ptr<ClMemory>> allocate(std::uint64_t size);
  [[nodiscard]] Status write(const ClMemory& memory, std::uint64_t offset, ByteView bytes);
  // Returns the kernels, which have passed the self-test. The kernels stay valid as long as the
  // engine exists. While they are compiled and tested for the first time, `progress` is called from
  // time to time (gpu_hash/preparing.h). A caller of kernels() must not share the engine between
  // threads.
  [[nodiscard]] Result<ClKernels*> kernels(HashAlgorithm algorithm, const BytesDone& progress = {});
  // Makes the copies to the device that streaming `bytes` bytes makes, but reads no data and runs
  // no kernels. For benchmarks.
  [[nodiscard]] Status copy_alone(std::uint64_t bytes);

 private:
  // The kernels of one hash algorithm, present after they passed the self-test.
  struct Tested {
    std::optional<ClKernels> kernels;
    bool resident = false;  // the kernels for device memory have passed too
  };

  ClEngine(ClSession session, const EngineOptions& options, KernelCache cache,
           std::uint64_t slice_bytes);
  [[nodiscard]] Status make_lanes();
  [[nodiscard]] Status make_staging();
  [[nodiscard]] Status test(ClKernels& kernels, HashAlgorithm algorithm);
  [[nodiscard]] Status test_resident(ClKernels& kernels, HashAlgorithm algorithm);
  // Loads a variant and tests it. A cached binary that fails the test is built again from source.
  [[nodiscard]] Result<ClKernels> load_tested(HashAlgorithm algorithm,
                                              const KernelVariant& variant);
  [[nodiscard]] Result<ClKernels*> resident_kernels(HashAlgorithm algorithm,
                                                    const BytesDone& progress);
  [[nodiscard]] Result<ClKernels> load_best(HashAlgorithm algorithm);
  [[nodiscard]] Result<ResidentResult> run_resident(std::span<const Region> regions,
                                                    const HashRequest& request, ResidentWork work,
                                                    const TagKey* key);
  [[nodiscard]] Result<std::vector<ObjectDigests>> run_stream(ClKernels& kernels,
                                                              std::span<const Region> regions,
                                                              const HashRequest& request,
                                                              std::uint32_t alignment);

  // The numbers of lanes and blocks are large enough that copies to the device never wait. With two
  // lanes, copying and hashing waited for each other (35 GB/s on an H200). With three lanes of
  // twice the size a small wait remained (50.7 of 55.4 GB/s).
  static constexpr std::size_t kLanes = 6;
  static constexpr std::size_t kBlocks = 6;  // of staging memory

  EngineInfo info_;
  ClSession session_;
  KernelCache cache_;
  unsigned threads_;
  std::uint64_t slice_bytes_;
  std::uint64_t batch_bytes_;
  std::mutex mutex_;           // guards the members below
  std::vector<ClLane> lanes_;  // empty or kLanes; made when they are needed
  ClStaging staging_;          // made together with the lanes
  std::array<Tested, 2> tested_;
  ResidentScratch scratch_;
  ClDerivation derivation_;
  Path last_path_;
};

}  // namespace assay::gpu_hash
