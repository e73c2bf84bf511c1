// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/files/read_protection.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

namespace assay::gpu_hash {
namespace {

// File systems of this machine alone whose writable mappings keep the file open for writing, so
// that no read lease is granted beside one. overlayfs grants it, network file systems know nothing
// of other machines, and the pages of tmpfs can be written through a buffer of io_uring that keeps
// neither the file open nor a mapping of it.
bool is_local(int fd) {
  constexpr std::array<unsigned long, 4> kLocal = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC,
                                                   BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC};
  struct statfs system{};
  return ::fstatfs(fd, &system) == 0 &&
         std::ranges::find(kLocal, static_cast<unsigned long>(system.f_type)) != kLocal.end();
}

bool has_verity(int fd) {
  struct statx status{};
  return ::statx(fd, "", AT_EMPTY_PATH, 0, &status) == 0 &&
         (status.stx_attributes & STATX_ATTR_VERITY) != 0;
}

// The signal of a lease that somebody waits for is SIGIO, which ends a process that does not handle
// it. SIGURG is ignored by default; the lease is looked at after each read.
bool take_lease(int fd) {
  return ::fcntl(fd, F_SETSIG, SIGURG) == 0 && ::fcntl(fd, F_SETLEASE, F_RDLCK) == 0;
}

bool is_read_only(int fd) {
  struct statvfs mount{};
  return ::fstatvfs(fd, &mount) == 0 && (mount.f_flag & ST_RDONLY) != 0;
}

}  // namespace

Protection protect(int fd) {
  if (is_local(fd)) {
    if (has_verity(fd)) {
      return Protection::kFsVerity;
    }
    if (take_lease(fd)) {
      return Protection::kLease;
    }
  }
  return is_read_only(fd) ? Protection::kReadOnlyMount : Protection::kNone;
}

bool keeps_lease(int fd) {
  if (::fcntl(fd, F_GETLEASE) == F_RDLCK) {
    return true;
  }
  (void)::fcntl(fd, F_SETLEASE, F_UNLCK);
  return false;
}

}  // namespace assay::gpu_hash
