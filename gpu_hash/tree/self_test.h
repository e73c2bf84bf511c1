// SPDX-License-Identifier: Apache-2.0
// Known answers that a device must give before it is used.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "gpu_hash/engine.h"
#include "schemas/core/digest.h"
#include "schemas/core/error.h"

namespace assay::gpu_hash {

using HashFunction =
    std::function<Result<std::vector<ObjectDigests>>(std::span<const Region>, const HashRequest&)>;

// Hashes objects of awkward sizes with `hash`, and in a second call a leaf of the largest chunk
// size, and compares the roots with answers that are part of the program. device-self-test-failed
// names the device and the first wrong digest; errors of `hash` pass through.
[[nodiscard]] Status self_test(const std::string& device, HashAlgorithm algorithm,
                               const HashFunction& hash);

}  // namespace assay::gpu_hash
