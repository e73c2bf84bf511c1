// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/opencl/exported.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

namespace assay::gpu_hash {

Result<FileKind> kind_of(const Descriptor& fd) {
  struct stat status{};
  struct statfs system{};
  if (::fstat(fd.get(), &status) != 0 || ::fstatfs(fd.get(), &system) != 0) {
    return fail(ErrorCode::kInvalidParameter, "the descriptor of the memory is not open");
  }
  return FileKind{status.st_mode, status.st_rdev, static_cast<std::uint64_t>(system.f_type)};
}

bool is_device_memory(const FileKind& file, std::string_view vendor) {
  constexpr unsigned kNvidiaMajor = 195;   // Documentation/admin-guide/devices.txt of Linux
  constexpr unsigned kControlMinor = 255;  // nvidiactl
  if (vendor.find("NVIDIA") != std::string_view::npos) {
    return S_ISCHR(file.mode) && major(file.device) == kNvidiaMajor &&
           minor(file.device) == kControlMinor;
  }
  return file.filesystem == DMA_BUF_MAGIC;
}

}  // namespace assay::gpu_hash
