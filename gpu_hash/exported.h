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
  std::uint32_t mode = 0;        // stx_mode of statx(2)
  std::uint64_t device = 0;      // stx_rdev of statx(2)
  std::uint64_t filesystem = 0;  // f_type of fstatfs(2); 0 for a file whose mode has a type
};

// Asks the kernel alone and never the file's file system, which may belong to whoever sent the
// descriptor and may not answer (FUSE, NFS). Errors: invalid-parameter, when the descriptor is not
// open.
[[nodiscard]] Result<FileKind> kind_of(const Descriptor& fd);

// Returns whether a driver of `vendor` (CL_DEVICE_VENDOR) exports memory of devices as files of
// this kind: NVIDIA's as its control device, all others as dma-buf.
[[nodiscard]] bool is_device_memory(const FileKind& file, std::string_view vendor);
// Returns whether the driver of some vendor does.
[[nodiscard]] bool is_device_memory(const FileKind& file);

}  // namespace assay::gpu_hash
