// SPDX-License-Identifier: Apache-2.0
// Lets kernels/*.cl compile as C++, so that sanitizers and debuggers see the very source that runs
// on devices; and runs them over a slice.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu_hash/tree/slice_layout.h"
#include "schemas/core/bytes.h"
#include "schemas/core/digest.h"

namespace assay::gpu_hash::test {

// The kernels of one hash algorithm, compiled one way (kernel_variant.cc).
struct HostKernels {
  // Runs leaves, nodes and gathering over `layout`, one work-item after the other. `data` holds the
  // slice and is read in words. One digest per segment.
  std::vector<Digest> (*run)(const SliceLayout& layout, std::span<const std::uint32_t> data,
                             std::uint32_t chunk_size);
  // nist.cl: words of the digests.
  Bytes (*nist_messages)(ByteView blocks, std::span<const std::uint32_t> first);
  Bytes (*nist_monte)(ByteView seed, std::uint32_t count);
};

extern const HostKernels kSha256Plain;
extern const HostKernels kSha384Plain;
// As for devices with a multiply pipe of their own.
extern const HostKernels kSha256Products;
extern const HostKernels kSha384Products;

}  // namespace assay::gpu_hash::test
