// SPDX-License-Identifier: Apache-2.0
#include "schemas/posix/memory_file.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>

#include "schemas/posix/files.h"

namespace assay {
namespace {

// Flags of memfd_create(2) from Linux 6.3 on, which Debian 12's headers do not name.
constexpr unsigned kNoExecSeal = 0x0008U;
constexpr unsigned kExec = 0x0010U;

Descriptor make(const char* name, Executable executable) {
  const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  const unsigned wish = executable == Executable::kYes ? kExec : kNoExecSeal;
  Descriptor file(::memfd_create(name, flags | wish));
  if (!file && errno == EINVAL) {  // an older kernel
    file = Descriptor(::memfd_create(name, flags));
  }
  return file;
}

}  // namespace

Result<Descriptor> sealed_memory(const char* name, std::span<const ByteView> bytes,
                                 Executable executable) {
  Descriptor file = make(name, executable);
  const bool good = file && std::ranges::all_of(
                                bytes, [&](ByteView part) { return write_all(file.get(), part); });
  constexpr int kSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
  if (!good || ::fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) {
    return fail(ErrorCode::kUnavailable, "the system has no room for a memory file");
  }
  return file;
}

}  // namespace assay
