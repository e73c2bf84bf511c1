// SPDX-License-Identifier: Apache-2.0
#include "worker/reader/link.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>

#include "schemas/core/bytes.h"
#include "schemas/instance.h"

namespace assay::worker {
namespace {

// False at the deadline.
bool wait_for_room(int socket, Steady::time_point deadline) {
  constexpr std::int64_t kLongest = 60'000;  // milliseconds
  while (true) {
    std::int64_t left = kLongest;
    if (deadline != Steady::time_point::max()) {
      left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Steady::now()).count();
    }
    if (left <= 0) {
      return false;
    }
    pollfd wait{socket, POLLOUT, 0};
    if (::poll(&wait, 1, static_cast<int>(std::min(left, kLongest))) > 0) {
      return true;
    }
  }
}

// Sends what there is room for; descriptors go beside the first byte. -1 as sendmsg().
ssize_t send_some(int socket, ByteView bytes, std::span<const int> descriptors) {
  alignas(cmsghdr) std::array<std::uint8_t, CMSG_SPACE(kMaxFrameDescriptors * sizeof(int))>
      control{};
  iovec data{const_cast<std::uint8_t*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    const std::size_t size = descriptors.size_bytes();
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(size);
    cmsghdr* const part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(size);
    std::memcpy(CMSG_DATA(part), descriptors.data(), size);
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

Status Link::send(ByteView body, std::span<const int> descriptors, Steady::time_point deadline) {
  if (descriptors.size() > kMaxFrameDescriptors) {
    return fail(ErrorCode::kInvalidParameter, "more descriptors than fit a frame");
  }
  const auto length = static_cast<std::uint32_t>(body.size());
  Bytes frame = {static_cast<std::uint8_t>(length), static_cast<std::uint8_t>(length >> 8),
                 static_cast<std::uint8_t>(length >> 16), static_cast<std::uint8_t>(length >> 24)};
  frame.insert(frame.end(), body.begin(), body.end());
  std::unique_lock lock(sending_, std::defer_lock);
  // A deadline that never comes cannot be given to the system.
  if (deadline == Steady::time_point::max()) {
    lock.lock();
  } else if (!lock.try_lock_until(deadline)) {
    return fail(ErrorCode::kRequestTimeout, "the other side does not read");
  }
  for (ByteView rest = frame; !rest.empty();) {
    const ssize_t count = send_some(channel_.socket(), rest, descriptors);
    if (count > 0) {
      rest = rest.subspan(static_cast<std::size_t>(count));
      descriptors = {};
    } else if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ETOOMANYREFS) {
      if (!wait_for_room(channel_.socket(), deadline)) {
        shut_down();
        return fail(ErrorCode::kRequestTimeout, "the other side does not read");
      }
    } else if (errno != EINTR) {
      shut_down();
      return fail(ErrorCode::kCancelled, "the other side has ended");
    }
  }
  return {};
}

}  // namespace assay::worker
