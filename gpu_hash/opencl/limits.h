// SPDX-License-Identifier: Apache-2.0
// Measures what bounds hashing on an OpenCL device (kernels/limits.cl). For benchmarks.
#pragma once

#include <cstdint>

#include "gpu_hash/opencl/device.h"
#include "gpu_hash/opencl/kernel_cache.h"
#include "gpu_hash/opencl/memory.h"
#include "schemas/core/error.h"

namespace assay::gpu_hash {

// Returns the rate of operations on the device, per second. The operations are rotations and logic
// on 32-bit words, in independent chains that fill the device, two rotations for each exclusive or.
// Multiplications and additions are left out, because a device can do them at the same time on
// other pipes. The rate is the best of some runs, which take a quarter of a second in all. Errors:
// device-failed.
[[nodiscard]] Result<double> integer_rate(const ClSession& session, const KernelCache& cache);

// Returns the rate of reading `memory` and doing nothing else, in bytes per second. `memory` must
// hold at least 64 KiB. Neighbouring work-items read neighbouring bytes; on a CPU each work-item
// reads a contiguous range of bytes. The rate is the best of some runs. Errors: device-failed,
// invalid-parameter.
[[nodiscard]] Result<double> memory_read_rate(const ClSession& session, const KernelCache& cache,
                                              const ClMemory& memory);

}  // namespace assay::gpu_hash
