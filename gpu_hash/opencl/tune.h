// SPDX-License-Identifier: Apache-2.0
// Which variant of the leaf kernel a device runs, by measuring them once.
#pragma once

#include "gpu_hash/opencl/device.h"
#include "gpu_hash/opencl/kernel_cache.h"
#include "gpu_hash/opencl/kernels.h"
#include "gpu_hash/opencl/variants.h"

namespace assay::gpu_hash {

// The fastest variant on this device, out of the cache or by hashing some of its memory with each
// variant that compiles (about a second a variant, once for each device, driver and source). A
// variant that fails is passed over; the plain one is always left. Never fails: without memory to
// measure on, it is the plain one.
[[nodiscard]] KernelVariant tuned_variant(const ClSession& session, HashAlgorithm algorithm,
                                          const KernelCache& cache);

// Makes the plain variant this device's choice from now on: another one gave a wrong digest.
void distrust_variant(const ClSession& session, HashAlgorithm algorithm, const KernelCache& cache);

}  // namespace assay::gpu_hash
