// SPDX-License-Identifier: Apache-2.0
// One end of the socket between the node agent and a process that reads memory: frames as in
// frames.h, and sending that waits for the other side.
#pragma once

#include <mutex>
#include <span>

#include "schemas/core/error.h"
#include "schemas/posix/descriptor.h"
#include "worker/instances/frames.h"
#include "worker/pace.h"

namespace assay::worker {

// receive() is for one thread, the rest for any.
class Link {
 public:
  // Takes over `socket`, a connected SOCK_STREAM.
  explicit Link(Descriptor socket) : channel_(std::move(socket)) {}

  // Sends a frame with at most kMaxFrameDescriptors descriptors, which stay the caller's.
  // Errors: cancelled when the other side has ended; request-timeout at `deadline`. After an error
  // nothing more can be sent.
  [[nodiscard]] Status send(ByteView body, std::span<const int> descriptors = {},
                            Steady::time_point deadline = Steady::time_point::max());
  // As FrameChannel::receive().
  [[nodiscard]] Result<Frame> receive(const FrameLimits& limits) const {
    return channel_.receive(limits);
  }
  // Ends both directions.
  void shut_down() const { channel_.shut_down(); }

 private:
  FrameChannel channel_;
  std::timed_mutex sending_;
};

}  // namespace assay::worker
