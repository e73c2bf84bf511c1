// SPDX-License-Identifier: Apache-2.0
// Chooses the variant of the leaf kernel for a device, by measuring all variants once.
#pragma once

#include "gpu_hash/opencl/device.h"
#include "gpu_hash/opencl/kernel_cache.h"
#include "gpu_hash/opencl/kernels.h"
#include "gpu_hash/opencl/variants.h"

namespace assay::gpu_hash {

// Returns the fastest variant on this device. Reads the choice from the cache when it was made
// before. Otherwise hashes some memory of the device with each variant that compiles and measures
// the time. This takes about a second for each variant, once for each device, driver and source. A
// variant that fails is skipped; the plain variant is always available. Never fails: when no memory
// is left for measuring, returns the plain variant.
[[nodiscard]] KernelVariant tuned_variant(const ClSession& session, HashAlgorithm algorithm,
                                          const KernelCache& cache);

// Makes the plain variant the choice for this device from now on. Called after another variant
// computed a wrong digest.
void distrust_variant(const ClSession& session, HashAlgorithm algorithm, const KernelCache& cache);

}  // namespace assay::gpu_hash
