// SPDX-License-Identifier: Apache-2.0
// Lets kernels/*.cl compile as C++, so that sanitizers and debuggers see the very source that runs
// on devices; and runs them over a slice.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu_hash/slice_layout.h"
#include "schemas/core/digest.h"

namespace assay::gpu_hash::test {

// Runs leaves, nodes and gathering over `layout`, one work-item after the other. `data` holds the
// slice and is read in words. One digest per segment.
[[nodiscard]] std::vector<Digest> run_sha256_kernels(const SliceLayout& layout,
                                                     std::span<const std::uint32_t> data,
                                                     std::uint32_t chunk_size);
[[nodiscard]] std::vector<Digest> run_sha384_kernels(const SliceLayout& layout,
                                                     std::span<const std::uint32_t> data,
                                                     std::uint32_t chunk_size);
// The same kernels, compiled as the variant for devices with a multiply pipe of their own.
[[nodiscard]] std::vector<Digest> run_sha256_products(const SliceLayout& layout,
                                                      std::span<const std::uint32_t> data,
                                                      std::uint32_t chunk_size);
[[nodiscard]] std::vector<Digest> run_sha384_products(const SliceLayout& layout,
                                                      std::span<const std::uint32_t> data,
                                                      std::uint32_t chunk_size);

}  // namespace assay::gpu_hash::test
