// SPDX-License-Identifier: Apache-2.0
// What kind of file a descriptor is, before it is given to a driver as memory of a device. To hand
// another file to a driver is to trust what the driver makes of it.
#pragma once

#include <cstdint>
#include <string_view>

#include "schemas/core/error.h"
#include "schemas/posix/descriptor.h"

namespace assay::gpu_hash {

// What the kernel says of an open file. Nothing of it can be chosen by the process that sent the
// descriptor, as a name could.
struct FileKind {
  std::uint32_t mode = 0;        // st_mode of fstat(2)
  std::uint64_t device = 0;      // st_rdev of fstat(2)
  std::uint64_t filesystem = 0;  // f_type of fstatfs(2)
};

// Errors: invalid-parameter, when the descriptor is not open.
[[nodiscard]] Result<FileKind> kind_of(const Descriptor& fd);

// Returns whether a driver of `vendor` (CL_DEVICE_VENDOR) exports memory of devices as files of
// this kind: NVIDIA's as its control device, all others as dma-buf.
[[nodiscard]] bool is_device_memory(const FileKind& file, std::string_view vendor);

}  // namespace assay::gpu_hash
