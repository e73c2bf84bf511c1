// SPDX-License-Identifier: Apache-2.0
// One end of the socket between a process and one that it started. Frames are those of frames.h.
// Unlike FrameChannel::send(), sending waits for the other side.
#pragma once

#include <mutex>
#include <span>

#include "schemas/core/error.h"
#include "schemas/posix/descriptor.h"
#include "schemas/posix/frames.h"

namespace assay {

// Only one thread may call receive(); any thread may call the other functions.
class Link {
 public:
  // Takes over `socket`, a connected SOCK_STREAM.
  explicit Link(Descriptor socket) : channel_(std::move(socket)) {}

  // Sends a frame with at most kMaxFrameDescriptors descriptors. The caller keeps the descriptors.
  // Waits until the frame is sent or `deadline` has passed. Errors: invalid-parameter for too many
  // descriptors; cancelled when the other side has ended; request-timeout at `deadline`. After the
  // last two, nothing more can be sent.
  [[nodiscard]] Status send(ByteView body, std::span<const int> descriptors = {},
                            Steady::time_point deadline = Steady::time_point::max());
  // As FrameChannel::receive().
  [[nodiscard]] Result<Frame> receive(const FrameLimits& limits) const {
    return channel_.receive(limits);
  }
  // Returns whether there is something to receive, or the other side has ended.
  [[nodiscard]] bool has_input() const { return channel_.wait(Steady::now()); }
  // Ends both directions.
  void shut_down() const { channel_.shut_down(); }

 private:
  FrameChannel channel_;
  std::timed_mutex sending_;
};

}  // namespace assay
