// SPDX-License-Identifier: Apache-2.0
// Memory announced over a socket: what was sent arrives, and what does not fit together is refused.
#include "gpu_hash/fd_channel.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <thread>

#include <gtest/gtest.h>

namespace assay::gpu_hash::test {
namespace {

struct Sockets {
  Sockets() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    owner = Descriptor(ends[0]);
    user = Descriptor(ends[1]);
  }
  Descriptor owner;
  Descriptor user;
};

// Pieces of 1, 2, 3 ... bytes, so that a descriptor can be told by its size.
SharedMemory numbered(std::size_t pieces) {
  SharedMemory memory;
  for (std::size_t i = 1; i <= pieces; ++i) {
    Descriptor fd(::memfd_create("piece", MFD_CLOEXEC));
    EXPECT_EQ(::ftruncate(fd.get(), static_cast<off_t>(i)), 0);
    memory.pieces.push_back({std::move(fd), i});
  }
  return memory;
}

Result<SharedMemory> pass(const SharedMemory& memory) {
  Sockets sockets;
  std::jthread sender([&] {
    (void)send_memory(sockets.owner.get(), memory);
    ::shutdown(sockets.owner.get(), SHUT_RDWR);
  });
  return receive_memory(sockets.user.get());
}

TEST(FdChannel, MorePiecesThanOneMessageCarries_ArriveInOrder) {
  SharedMemory memory = numbered(600);
  memory.objects = {{{5, 1, 3}, {599, 0, 600}}, {}, {{0, 1, 0}}};
  const auto got = pass(memory);
  ASSERT_TRUE(got.has_value()) << got.error().detail;
  ASSERT_EQ(got->pieces.size(), 600U);
  for (std::size_t i = 0; i < got->pieces.size(); ++i) {
    struct stat status{};
    ASSERT_EQ(::fstat(got->pieces[i].fd.get(), &status), 0);
    EXPECT_EQ(static_cast<std::size_t>(status.st_size), i + 1);
    EXPECT_EQ(got->pieces[i].size, i + 1);
    EXPECT_NE(::fcntl(got->pieces[i].fd.get(), F_GETFD) & FD_CLOEXEC, 0);
  }
  ASSERT_EQ(got->objects.size(), 3U);
  EXPECT_EQ(got->objects[0].at(1).piece, 599U);
  EXPECT_EQ(got->objects[0].at(0).offset, 1U);
  EXPECT_TRUE(got->objects[1].empty());
}

TEST(FdChannel, PartOutsideItsPieceOrOfNoPiece_IsRefused) {
  for (const SharedPart& part : {SharedPart{0, 0, 2}, SharedPart{0, 2, 0}, SharedPart{3, 0, 0},
                                 SharedPart{2, 1, ~std::uint64_t{0}}}) {
    SharedMemory memory = numbered(3);
    memory.objects = {{part}};
    const auto got = pass(memory);
    ASSERT_FALSE(got.has_value());
    EXPECT_EQ(got.error().code, ErrorCode::kInvalidParameter);
  }
}

TEST(FdChannel, CountWithoutItsDescriptorsOrAnEarlyEnd_IsRefused) {
  for (const std::size_t length : {0U, 5U, 8U}) {
    Sockets sockets;
    const std::uint64_t count = 1;
    ASSERT_EQ(::send(sockets.owner.get(), &count, length, 0), static_cast<ssize_t>(length));
    ::shutdown(sockets.owner.get(), SHUT_RDWR);
    EXPECT_FALSE(receive_memory(sockets.user.get()).has_value()) << length;
  }
}

}  // namespace
}  // namespace assay::gpu_hash::test
