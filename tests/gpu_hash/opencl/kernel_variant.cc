// SPDX-License-Identifier: Apache-2.0
// kernels/*.cl on the host, compiled once for each hash algorithm and each way to add. The build
// sets ASSAY_TEST_BITS (256 or 384), ASSAY_TEST_PRODUCTS (additions as products: 0 or 1) and
// ASSAY_TEST_KERNELS, the name in kernel_host.h.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "gpu_hash/tree/launch_tables.h"
#include "tests/gpu_hash/opencl/kernel_host.h"

namespace assay::gpu_hash::test {
namespace {

#if ASSAY_TEST_PRODUCTS
#define ASSAY_MULTIPLY 1
#define ASSAY_TAG_ADDS 3
#define ASSAY_ROLL 1
#define ASSAY_AHEAD 1
#endif
constexpr HashAlgorithm kAlgorithm =
    ASSAY_TEST_BITS == 256 ? HashAlgorithm::kSha256 : HashAlgorithm::kSha384;

// The order matters: each of these files needs the ones before it.
// clang-format off
#include "tests/gpu_hash/opencl/kernel_shim.h"
#include "gpu_hash/opencl/kernels/buffers.cl"
#include "gpu_hash/opencl/kernels/tags.cl"
#if ASSAY_TEST_BITS == 256
#include "gpu_hash/opencl/kernels/sha256.cl"
#else
#include "gpu_hash/opencl/kernels/sha384.cl"
#endif
#include "gpu_hash/opencl/kernels/tree.cl"
#include "tests/gpu_hash/opencl/nist.cl"
#include "tests/gpu_hash/opencl/kernel_runner.h"
// clang-format on

}  // namespace

const HostKernels ASSAY_TEST_KERNELS = {run_kernels, run_nist_messages, run_nist_monte};

}  // namespace assay::gpu_hash::test
