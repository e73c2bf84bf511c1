// SPDX-License-Identifier: Apache-2.0
// What tests of registrations share: sockets, memory files, descriptors that are open.
#pragma once

#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <netinet/in.h>
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

// Whoever closes the last descriptor of `socket` waits for kLinger, because `other_end`, the end of
// the connection in this process, does not read what was sent.
struct LingeringSocket {
  static constexpr std::chrono::seconds kLinger{30};

  LingeringSocket() : socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const name = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof(address);
    EXPECT_EQ(::bind(listener.get(), name, size), 0);
    EXPECT_EQ(::listen(listener.get(), 1), 0);
    EXPECT_EQ(::getsockname(listener.get(), name, &size), 0);
    EXPECT_EQ(::connect(socket.get(), name, size), 0);
    other_end = Descriptor(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const std::string bytes(1 << 16, 'x');
    while (::send(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) {
    }
    const linger wait{.l_onoff = 1, .l_linger = static_cast<int>(kLinger.count())};
    EXPECT_EQ(::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &wait, sizeof(wait)), 0);
  }

  Descriptor socket;
  Descriptor other_end;  // closed first: then nothing waits
};

// Descriptors that this process has open.
inline std::size_t open_descriptors() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    count += entry.is_symlink() ? 1U : 0U;
  }
  return count;
}

}  // namespace assay::worker::test
