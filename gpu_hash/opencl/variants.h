// SPDX-License-Identifier: Apache-2.0
// The variants in which the leaf kernel can be compiled. All variants compute the same digests.
// Which variant is fastest depends on the device.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "schemas/core/digest.h"

namespace assay::gpu_hash {

struct KernelVariant {
  std::string_view name;     // for reports and tests
  std::string_view options;  // build options, explained in kernels/buffers.cl
  std::size_t group;         // work-items of a group in large launches; a power of two
};

// Returns the variants to try on a device of `vendor` (CL_DEVICE_VENDOR) and `type`. The plain
// variant comes first, because it works everywhere. For CPUs it is the only variant, because the
// others are several times slower on CPUs.
[[nodiscard]] std::span<const KernelVariant> kernel_variants(HashAlgorithm algorithm,
                                                             std::string_view vendor,
                                                             std::string_view type);

}  // namespace assay::gpu_hash
