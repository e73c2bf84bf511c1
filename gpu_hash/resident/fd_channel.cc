// SPDX-License-Identifier: Apache-2.0
// Both ends of the socket that hands memory over.
#include "gpu_hash/fd_channel.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>

namespace assay::gpu_hash {
namespace {

constexpr std::size_t kMaxBatch = 253;  // SCM_MAX_FD of Linux
constexpr std::uint64_t kMaxPieces = 65536;
constexpr std::uint64_t kMaxParts = std::uint64_t{1} << 20;

std::unexpected<Error> broken() {
  return fail(ErrorCode::kFileUnreadable, "the socket of the memory's owner failed or ended");
}

Status read_all(int socket, void* out, std::size_t size) {
  auto* at = static_cast<std::uint8_t*>(out);
  while (size > 0) {
    const ssize_t count = ::recv(socket, at, size, 0);
    if (count <= 0) {
      if (count < 0 && errno == EINTR) {
        continue;
      }
      return broken();
    }
    at += count;
    size -= static_cast<std::size_t>(count);
  }
  return {};
}

Result<std::uint64_t> read_number(int socket, std::uint64_t limit) {
  std::uint64_t value = 0;
  ASSAY_TRY(read_all(socket, &value, sizeof(value)));
  if (value > limit) {
    return fail(ErrorCode::kLimitExceeded, "the memory's owner announces too much");
  }
  return value;
}

// A count, and the descriptors beside it.
Result<std::uint64_t> read_batch(int socket, std::vector<Descriptor>& fds) {
  std::uint64_t count = 0;
  alignas(cmsghdr) std::array<std::uint8_t, CMSG_SPACE(kMaxBatch * sizeof(int))> control{};
  iovec data{&count, sizeof(count)};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  if (got > 0) {
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
         part = CMSG_NXTHDR(&message, part)) {
      if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) {
        continue;
      }
      for (std::size_t at = 0; at + sizeof(int) <= part->cmsg_len - CMSG_LEN(0);
           at += sizeof(int)) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(part) + at, sizeof(fd));
        fds.emplace_back(fd);
      }
    }
  }
  if (got <= 0) {
    return broken();
  }
  ASSAY_TRY(read_all(socket, reinterpret_cast<std::uint8_t*>(&count) + got,
                     sizeof(count) - static_cast<std::size_t>(got)));
  if (count != fds.size() || (message.msg_flags & MSG_CTRUNC) != 0) {
    return fail(ErrorCode::kInvalidParameter,
                "the memory's owner sent other descriptors than said");
  }
  return count;
}

Status write_all(int socket, const void* data, std::size_t size) {
  const auto* at = static_cast<const std::uint8_t*>(data);
  while (size > 0) {
    const ssize_t count = ::send(socket, at, size, MSG_NOSIGNAL);
    if (count <= 0) {
      return broken();
    }
    at += count;
    size -= static_cast<std::size_t>(count);
  }
  return {};
}

Status write_batch(int socket, std::span<const SharedPiece> pieces) {
  std::uint64_t count = pieces.size();
  alignas(cmsghdr) std::array<std::uint8_t, CMSG_SPACE(kMaxBatch * sizeof(int))> control{};
  iovec data{&count, sizeof(count)};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (!pieces.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(pieces.size() * sizeof(int));
    cmsghdr* part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(pieces.size() * sizeof(int));
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const int fd = pieces[i].fd.get();
      std::memcpy(CMSG_DATA(part) + i * sizeof(fd), &fd, sizeof(fd));
    }
  }
  if (::sendmsg(socket, &message, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof(count))) {
    return broken();
  }
  for (const SharedPiece& piece : pieces) {
    ASSAY_TRY(write_all(socket, &piece.size, sizeof(piece.size)));
  }
  return {};
}

Status read_pieces(int socket, SharedMemory& memory) {
  for (;;) {
    std::vector<Descriptor> fds;
    ASSAY_ASSIGN(const std::uint64_t count, read_batch(socket, fds));
    if (count == 0) {
      return {};
    }
    if (memory.pieces.size() + count > kMaxPieces) {
      return fail(ErrorCode::kLimitExceeded, "the memory's owner announces too many pieces");
    }
    for (Descriptor& fd : fds) {
      ASSAY_ASSIGN(const std::uint64_t size, read_number(socket, ~std::uint64_t{0}));
      memory.pieces.push_back({std::move(fd), size});
    }
  }
}

}  // namespace

Result<SharedMemory> receive_memory(int socket) {
  SharedMemory memory;
  ASSAY_TRY(read_pieces(socket, memory));
  ASSAY_ASSIGN(const std::uint64_t objects, read_number(socket, kMaxParts));
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < objects; ++i) {
    ASSAY_ASSIGN(const std::uint64_t parts, read_number(socket, kMaxParts));
    total += parts;
    if (total > kMaxParts) {
      return fail(ErrorCode::kLimitExceeded, "the memory's owner announces too many parts");
    }
    std::vector<SharedPart>& object = memory.objects.emplace_back();
    for (std::uint64_t j = 0; j < parts; ++j) {
      std::array<std::uint64_t, 3> values{};
      ASSAY_TRY(read_all(socket, values.data(), sizeof(values)));
      const auto [piece, offset, size] = values;
      if (piece >= memory.pieces.size() || offset > memory.pieces[piece].size ||
          size > memory.pieces[piece].size - offset) {
        return fail(ErrorCode::kInvalidParameter, "a part lies outside its piece of memory");
      }
      object.push_back({piece, offset, size});
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
  const std::uint64_t objects = memory.objects.size();
  ASSAY_TRY(write_all(socket, &objects, sizeof(objects)));
  for (const std::vector<SharedPart>& object : memory.objects) {
    const std::uint64_t parts = object.size();
    ASSAY_TRY(write_all(socket, &parts, sizeof(parts)));
    for (const SharedPart& part : object) {
      const std::array<std::uint64_t, 3> values = {part.piece, part.offset, part.size};
      ASSAY_TRY(write_all(socket, values.data(), sizeof(values)));
    }
  }
  return {};
}

}  // namespace assay::gpu_hash
