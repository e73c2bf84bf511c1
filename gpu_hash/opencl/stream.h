// SPDX-License-Identifier: Apache-2.0
// Files and host memory on their way through the lanes of an OpenCL engine: threads fill blocks of
// pinned memory, copies to the device follow one another without a gap, and kernels run beside
// them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu_hash/engine.h"
#include "gpu_hash/opencl/device.h"
#include "gpu_hash/opencl/kernels.h"
#include "gpu_hash/opencl/lane.h"
#include "gpu_hash/opencl/staging.h"

namespace assay::gpu_hash {

struct StreamOptions {
  unsigned threads;           // that fill blocks
  std::uint64_t slice_bytes;  // a power of two
  std::uint32_t alignment;    // of each segment in a slice, a power of two
};

// Chunks of a slice, and levels of the tree over its largest segment.
[[nodiscard]] std::uint32_t slots_of_slice(std::uint64_t slice_bytes);
[[nodiscard]] std::uint32_t levels_of_slice(std::uint64_t slice_bytes);

// Hashes regions of files and host memory. Errors as Engine::hash().
[[nodiscard]] Result<std::vector<ObjectDigests>> stream(
    const ClSession& session, ClKernels& kernels, std::vector<ClLane>& lanes, ClStaging& staging,
    std::span<const Region> regions, const HashRequest& request, const StreamOptions& options);

}  // namespace assay::gpu_hash
