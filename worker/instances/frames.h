// SPDX-License-Identifier: Apache-2.0
// Frames over a Unix stream socket: a length (32 bits, little-endian), so many bytes, and
// descriptors beside the first byte. Format: docs/instances.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "schemas/core/bytes.h"
#include "schemas/core/error.h"
#include "schemas/posix/descriptor.h"
#include "worker/pace.h"

namespace assay::worker {

struct Frame {
  Bytes body;
  std::vector<Descriptor> descriptors;
};

// How long a frame may take, and how large it may be.
struct FrameLimits {
  std::size_t bytes;                                     // of the body
  std::size_t descriptors = 0;                           // 0: any descriptor is refused
  Steady::time_point begin = Steady::time_point::max();  // its first byte is there by then
  Steady::time_point end = Steady::time_point::max();    // all of it is there by then
  Steady::duration idle = Steady::duration::max();       // without a byte, once it has begun
};

// One end of a socket. receive() is for one thread; send() and shut_down() for any.
class FrameChannel {
 public:
  // Takes over `socket`, a connected SOCK_STREAM.
  explicit FrameChannel(Descriptor socket);

  [[nodiscard]] int socket() const { return socket_.get(); }

  // Waits until there is something to receive, or the other side has ended. False at `deadline`.
  [[nodiscard]] bool wait(Steady::time_point deadline) const;

  // Receives one frame. Never reads beyond it. Calls `begin` with the length once that is known,
  // before memory is set aside for the body; its error ends the frame.
  // Errors: cancelled when the other side has ended between frames, or shut_down() was called;
  // request-timeout; limit-exceeded for a length beyond the limit; invalid-parameter for
  // descriptors that are too many, or not beside the first byte; file-unreadable for a frame that
  // ends early and for a socket that fails. After an error nothing more can be received; the
  // descriptors that came are closed.
  [[nodiscard]] Result<Frame> receive(
      const FrameLimits& limits, const std::function<Status(std::size_t length)>& begin = {}) const;

  // Sends a frame without waiting: an owner that does not read loses its connection.
  // Errors: cancelled when the frame does not fit the socket's buffer, or the other side has ended.
  [[nodiscard]] Status send(ByteView body, std::span<const int> descriptors = {});

  // Ends both directions; a receive() that waits returns.
  void shut_down() const;

 private:
  Descriptor socket_;
  std::mutex sending_;
};

}  // namespace assay::worker
