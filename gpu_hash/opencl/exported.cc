// SPDX-License-Identifier: Apache-2.0
// Kinds of files, as the kernel alone tells them.
#include "gpu_hash/exported.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

namespace assay::gpu_hash {
namespace {

bool is_control_device(const FileKind& file) {
  constexpr unsigned kNvidiaMajor = 195;   // Documentation/admin-guide/devices.txt of Linux
  constexpr unsigned kControlMinor = 255;  // nvidiactl
  return S_ISCHR(file.mode) && major(file.device) == kNvidiaMajor &&
         minor(file.device) == kControlMinor;
}

bool is_dma_buf(const FileKind& file) { return file.filesystem == DMA_BUF_MAGIC; }

}  // namespace

// fstat(2) would have FUSE and NFS ask who serves the file. Only files that the kernel makes
// without a file system behind them, such as dma-bufs, have no type: fstatfs(2) never asks anybody
// of those.
Result<FileKind> kind_of(const Descriptor& fd) {
  struct statx status{};
  if (!fd || ::statx(fd.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &status) != 0) {
    return fail(ErrorCode::kInvalidParameter, "the descriptor of the memory is not open");
  }
  FileKind kind{status.stx_mode, makedev(status.stx_rdev_major, status.stx_rdev_minor), 0};
  struct statfs system{};
  if ((kind.mode & S_IFMT) == 0 && ::fstatfs(fd.get(), &system) == 0) {
    kind.filesystem = static_cast<std::uint64_t>(system.f_type);
  }
  return kind;
}

bool is_device_memory(const FileKind& file, std::string_view vendor) {
  const bool is_nvidia = vendor.find("NVIDIA") != std::string_view::npos;
  return is_nvidia ? is_control_device(file) : is_dma_buf(file);
}

bool is_device_memory(const FileKind& file) { return is_control_device(file) || is_dma_buf(file); }

}  // namespace assay::gpu_hash
