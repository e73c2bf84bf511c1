// SPDX-License-Identifier: Apache-2.0
#include "attestation/plugin/memory_file.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
#include <vector>

namespace assay::attestation::plugin {
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

Result<Descriptor> sealed_memory(const char* name, std::initializer_list<ByteView> bytes,
                                 Executable executable) {
  Descriptor file = make(name, executable);
  // One call, for a file in memory takes all bytes or has no room.
  std::vector<iovec> parts;
  std::size_t total = 0;
  for (const ByteView part : bytes) {
    parts.push_back({const_cast<std::uint8_t*>(part.data()), part.size()});  // NOLINT: only read
    total += part.size();
  }
  const bool good = file && ::writev(file.get(), parts.data(), static_cast<int>(parts.size())) ==
                                static_cast<ssize_t>(total);
  constexpr int kSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
  if (!good || ::fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) {
    return fail(ErrorCode::kUnavailable, "the system has no room for a memory file");
  }
  return file;
}

}  // namespace assay::attestation::plugin
