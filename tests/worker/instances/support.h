// SPDX-License-Identifier: Apache-2.0
// What tests of registrations share: sockets, memory files, descriptors that are open.
#pragma once

#include <fcntl.h>
#include <filesystem>
#include <string>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include <gtest/gtest.h>

#include "schemas/core/bytes.h"
#include "schemas/posix/descriptor.h"

namespace assay::worker::test {

inline std::pair<Descriptor, Descriptor> socket_pair() {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

// A memory file with these bytes, sealed as owners must.
inline Descriptor memory_file(std::size_t size, int seals = F_SEAL_SHRINK | F_SEAL_GROW) {
  Descriptor file(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(::ftruncate(file.get(), static_cast<off_t>(size)), 0);
  EXPECT_EQ(::fcntl(file.get(), F_ADD_SEALS, seals), 0);
  return file;
}

// Descriptors that this process has open.
inline std::size_t open_descriptors() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    count += entry.is_symlink() ? 1U : 0U;
  }
  return count;
}

}  // namespace assay::worker::test
