// SPDX-License-Identifier: Apache-2.0
// The ways in which the leaf kernel can be compiled. All give the same digests; which one is fast
// depends on the device.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "schemas/core/digest.h"

namespace assay::gpu_hash {

struct KernelVariant {
  std::string_view name;     // for reports and tests
  std::string_view options;  // build options: kernels/buffers.cl says what they mean
  std::size_t group;         // work-items of a group when there are many; a power of two
};

// Variants worth trying on a device of `vendor` (CL_DEVICE_VENDOR), the plain one first: it works
// everywhere and is the only one for CPUs, where the others are several times slower.
[[nodiscard]] std::span<const KernelVariant> kernel_variants(HashAlgorithm algorithm,
                                                             std::string_view vendor,
                                                             std::string_view type);

}  // namespace assay::gpu_hash
