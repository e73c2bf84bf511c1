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

// Hashes objects of many sizes around block and chunk borders with `hash`. A second call hashes a
// leaf of the largest chunk size. The roots are compared with known answers in the program. Errors:
// device-self-test-failed with `device` and the first wrong digest; those of `hash`.
[[nodiscard]] Status self_test(const std::string& device, HashAlgorithm algorithm,
                               const HashFunction& hash);

}  // namespace assay::gpu_hash
