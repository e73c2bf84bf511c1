// SPDX-License-Identifier: Apache-2.0
#include "schemas/posix/link.h"

#include <cerrno>
#include <poll.h>

namespace assay {

Status Link::send(ByteView body, std::span<const int> descriptors, Steady::time_point deadline) {
  if (descriptors.size() > kMaxFrameDescriptors) {
    return fail(ErrorCode::kInvalidParameter, "more descriptors than fit a frame");
  }
  const Bytes frame = frame_of(body);
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
      if (Steady::now() >= deadline || !wait_for(channel_.socket(), POLLOUT, deadline)) {
        shut_down();
        return fail(ErrorCode::kRequestTimeout, "the other side does not read");
      }
    } else {
      shut_down();
      return fail(ErrorCode::kCancelled, "the other side has ended");
    }
  }
  return {};
}

}  // namespace assay
