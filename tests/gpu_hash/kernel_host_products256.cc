// SPDX-License-Identifier: Apache-2.0
// kernels/sha256.cl and tree.cl on the host, with additions written as products.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "gpu_hash/launch_tables.h"
#include "tests/gpu_hash/kernel_host.h"

namespace assay::gpu_hash::test {
namespace {

#define ASSAY_MULTIPLY 1
#define ASSAY_ROLL 1
#define ASSAY_AHEAD 1
constexpr HashAlgorithm kAlgorithm = HashAlgorithm::kSha256;

// The order matters: each of these files needs the ones before it.
// clang-format off
#include "tests/gpu_hash/kernel_shim.h"
#include "gpu_hash/kernels/buffers.cl"
#include "gpu_hash/kernels/tags.cl"
#include "gpu_hash/kernels/sha256.cl"
#include "gpu_hash/kernels/tree.cl"
#include "tests/gpu_hash/kernel_runner.h"
// clang-format on

}  // namespace

std::vector<Digest> run_sha256_products(const SliceLayout& layout,
                                        std::span<const std::uint32_t> data,
                                        std::uint32_t chunk_size) {
  return run_kernels(layout, data, chunk_size);
}

}  // namespace assay::gpu_hash::test
