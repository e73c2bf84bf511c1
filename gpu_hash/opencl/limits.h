// SPDX-License-Identifier: Apache-2.0
// Measures what bounds hashing on an OpenCL device (kernels/limits.cl). For benchmarks.
#pragma once

#include <cstdint>

#include "gpu_hash/opencl/device.h"
#include "gpu_hash/opencl/kernel_cache.h"
#include "gpu_hash/opencl/memory.h"
#include "schemas/core/error.h"

namespace assay::gpu_hash {

// Operations a second: rotations and logic on 32-bit words, in independent chains that fill the
// device, two rotations to one exclusive or. What else a device can do beside them on other pipes
// (multiplications, additions) is left out. Best of some runs, a quarter of a second in all.
// device-failed.
[[nodiscard]] Result<double> integer_rate(const ClSession& session, const KernelCache& cache);

// Bytes a second of nothing but reading `memory`, which must hold at least 64 KiB: in order by
// neighbouring work-items, or on a CPU one run for each of them. Best of some runs. device-failed,
// invalid-parameter.
[[nodiscard]] Result<double> memory_read_rate(const ClSession& session, const KernelCache& cache,
                                              const ClMemory& memory);

}  // namespace assay::gpu_hash
