// SPDX-License-Identifier: Apache-2.0
// Leaves and subtrees of bytes in host memory, on one core.
#pragma once

#include <cstdint>
#include <vector>

#include "schemas/core/artifact.h"
#include "schemas/core/bytes.h"
#include "schemas/core/digest.h"

namespace assay::gpu_hash {

// Digests of the runs of `grain` bytes in `bytes`, which start at a chunk border; the last run may
// be shorter. `grain` is the chunk size times a power of two.
[[nodiscard]] std::vector<Digest> hash_grains(const TreeParameters& parameters, ByteView bytes,
                                              std::uint64_t grain);

}  // namespace assay::gpu_hash
