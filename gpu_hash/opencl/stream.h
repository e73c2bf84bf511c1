// SPDX-License-Identifier: Apache-2.0
// Streams files and host memory through the lanes (lane.h) of an OpenCL engine, one slice of data
// into each lane. Segments are explained in tree/fold.h. Threads fill blocks of pinned memory.
// Copies to the device follow one another without a gap, and kernels run at the same time.
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
  unsigned threads;           // threads that fill blocks
  std::uint64_t slice_bytes;  // a power of two
  std::uint32_t alignment;    // of each segment in a slice, a power of two
};

// Return the number of chunks of a slice, and the levels of the tree over its largest segment.
[[nodiscard]] std::uint32_t slots_of_slice(std::uint64_t slice_bytes);
[[nodiscard]] std::uint32_t levels_of_slice(std::uint64_t slice_bytes);

// Hashes regions of files and host memory. Errors: as Engine::hash().
[[nodiscard]] Result<std::vector<ObjectDigests>> stream(
    const ClSession& session, ClKernels& kernels, std::vector<ClLane>& lanes, ClStaging& staging,
    std::span<const Region> regions, const HashRequest& request, const StreamOptions& options);

}  // namespace assay::gpu_hash
