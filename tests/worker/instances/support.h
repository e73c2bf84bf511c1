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
#include <thread>
#include <unistd.h>
#include <utility>

#include <gtest/gtest.h>

#include "schemas/core/bytes.h"
#include "schemas/posix/descriptor.h"
#include "tests/worker/instances/memory_seals.h"

namespace assay::worker::test {

inline std::pair<Descriptor, Descriptor> socket_pair() {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

// A memory file of this size without a byte written, sealed as owners must.
inline Descriptor sparse_file(std::size_t size, int seals = kOwnerSeals, unsigned flags = 0) {
  Descriptor file(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING | flags));
  EXPECT_EQ(::ftruncate(file.get(), static_cast<off_t>(size)), 0);
  EXPECT_EQ(::fcntl(file.get(), F_ADD_SEALS, seals), 0);
  return file;
}

// A memory file of so many zeros that were written, sealed as owners must.
inline Descriptor memory_file(std::size_t size, int seals = kOwnerSeals) {
  Descriptor file = sparse_file(size, 0);
  const std::string zeros(size, '\0');
  EXPECT_EQ(::pwrite(file.get(), zeros.data(), size, 0), std::ssize(zeros));
  EXPECT_EQ(::fcntl(file.get(), F_ADD_SEALS, seals), 0);
  return file;
}

// The same, and where its owner has it mapped.
class MappedFile {
 public:
  explicit MappedFile(std::size_t size) : file(memory_file(size, 0)), size_(size) {
    void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    EXPECT_NE(memory, MAP_FAILED);
    bytes = static_cast<std::uint8_t*>(memory);
    EXPECT_EQ(::fcntl(file.get(), F_ADD_SEALS, kOwnerSeals), 0);
  }
  ~MappedFile() { ::munmap(bytes, size_); }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  Descriptor file;
  std::uint8_t* bytes = nullptr;

 private:
  std::size_t size_;
};

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
  ~LingeringSocket() {
    (void)other_end.close();  // now nothing waits any more
    if (closing_.joinable()) {
      closing_.join();
    }
  }
  LingeringSocket(const LingeringSocket&) = delete;
  LingeringSocket& operator=(const LingeringSocket&) = delete;

  // Closes this process's own descriptor after `socket` was sent: in a thread, which waits where
  // the receiver was the first to close its own.
  void let_go() {
    closing_ = std::thread([own = std::move(socket)]() mutable { (void)own.close(); });
  }

  Descriptor socket;
  Descriptor other_end;

 private:
  std::thread closing_;
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
