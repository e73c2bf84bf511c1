// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu_hash/owner_channel.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <sys/socket.h>
#include <utility>

namespace assay::gpu_hash {
namespace {

constexpr std::size_t kMaxBatch = 253;  // SCM_MAX_FD of Linux

std::unexpected<Error> broken() {
  return fail(ErrorCode::kFileUnreadable, "the socket of the memory's owner failed or ended");
}

Status read_all(int socket, std::span<std::uint64_t> out) {
  const auto size = static_cast<ssize_t>(out.size_bytes());
  return ::recv(socket, out.data(), out.size_bytes(), MSG_WAITALL) == size ? Status() : broken();
}

Status write_all(int socket, std::span<const std::uint64_t> values) {
  const auto size = static_cast<ssize_t>(values.size_bytes());
  return ::send(socket, values.data(), values.size_bytes(), MSG_NOSIGNAL) == size ? Status()
                                                                                  : broken();
}

// A count, and so many descriptors beside it.
union Control {
  std::array<std::uint8_t, CMSG_SPACE(kMaxBatch * sizeof(int))> bytes;
  cmsghdr first;
};

Result<std::vector<Descriptor>> read_batch(int socket) {
  std::uint64_t count = 0;
  Control control{};
  iovec data{&count, sizeof(count)};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  std::vector<Descriptor> fds;
  if (::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL) != sizeof(count) ||
      count > kMaxBatch || (count > 0 && control.first.cmsg_len != CMSG_LEN(count * sizeof(int)))) {
    return broken();
  }
  for (std::size_t i = 0; i < count; ++i) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(&control.first) + i * sizeof(fd), sizeof(fd));
    fds.emplace_back(fd);
  }
  return fds;
}

Status write_batch(int socket, std::span<const SharedPiece> pieces) {
  std::uint64_t count = pieces.size();
  Control control{};
  iovec data{&count, sizeof(count)};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  std::vector<std::uint64_t> sizes;
  if (!pieces.empty()) {
    message.msg_control = control.bytes.data();
    message.msg_controllen = CMSG_SPACE(pieces.size() * sizeof(int));
    control.first = {CMSG_LEN(pieces.size() * sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
  }
  for (const SharedPiece& piece : pieces) {
    const int fd = piece.fd.get();
    std::memcpy(CMSG_DATA(&control.first) + sizes.size() * sizeof(fd), &fd, sizeof(fd));
    sizes.push_back(piece.size);
  }
  if (::sendmsg(socket, &message, MSG_NOSIGNAL) != sizeof(count)) {
    return broken();
  }
  return sizes.empty() ? Status() : write_all(socket, sizes);
}

}  // namespace

Result<SharedMemory> receive_memory(int socket) {
  SharedMemory memory;
  while (true) {
    ASSAY_ASSIGN(std::vector<Descriptor> fds, read_batch(socket));
    if (fds.empty()) {
      break;
    }
    std::vector<std::uint64_t> sizes(fds.size());
    ASSAY_TRY(read_all(socket, sizes));
    for (std::size_t i = 0; i < fds.size(); ++i) {
      memory.pieces.push_back({std::move(fds[i]), sizes[i]});
    }
  }
  std::array<std::uint64_t, 1> objects{};
  ASSAY_TRY(read_all(socket, objects));
  memory.objects.resize(objects[0]);
  for (std::vector<SharedPart>& object : memory.objects) {
    std::array<std::uint64_t, 1> parts{};
    ASSAY_TRY(read_all(socket, parts));
    for (std::uint64_t i = 0; i < parts[0]; ++i) {
      std::array<std::uint64_t, 3> part{};
      ASSAY_TRY(read_all(socket, part));
      object.push_back({part[0], part[1], part[2]});
    }
  }
  return memory;
}

Status send_memory(int socket, const SharedMemory& memory) {
  const std::span<const SharedPiece> pieces = memory.pieces;
  for (std::size_t at = 0; at < pieces.size(); at += kMaxBatch) {
    ASSAY_TRY(write_batch(socket, pieces.subspan(at, std::min(kMaxBatch, pieces.size() - at))));
  }
  ASSAY_TRY(write_batch(socket, {}));
  std::vector<std::uint64_t> values = {memory.objects.size()};
  for (const std::vector<SharedPart>& object : memory.objects) {
    values.push_back(object.size());
    for (const SharedPart& part : object) {
      values.insert(values.end(), {part.piece, part.offset, part.size});
    }
  }
  return write_all(socket, values);
}

}  // namespace assay::gpu_hash
