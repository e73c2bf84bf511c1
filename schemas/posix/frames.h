// SPDX-License-Identifier: Apache-2.0
// Frames (messages) over a Unix stream socket: a length (32 bits, little-endian), then as many
// bytes. File descriptors may accompany the first byte.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <sys/types.h>
#include <vector>

#include "schemas/core/bytes.h"
#include "schemas/core/error.h"
#include "schemas/posix/descriptor.h"

namespace assay {

using Steady = std::chrono::steady_clock;

// Largest number of descriptors beside one frame (SCM_MAX_FD of Linux).
inline constexpr std::size_t kMaxFrameDescriptors = 253;

struct Frame {
  Bytes body;
  std::vector<Descriptor> descriptors;
};

// How long a frame may take, and how large it may be.
struct FrameLimits {
  std::size_t bytes;                                     // of the body
  std::size_t descriptors = 0;                           // 0: any descriptor is refused
  Steady::time_point begin = Steady::time_point::max();  // deadline for the first byte
  Steady::time_point end = Steady::time_point::max();    // deadline for the last byte
  Steady::duration idle = Steady::duration::max();       // longest pause between bytes
};

// The steps of sending, for FrameChannel::send() and for Link::send() (link.h), which waits.
//
// Returns `body` with its length before it.
[[nodiscard]] Bytes frame_of(ByteView body);
// Sends as many of these bytes as there is room for, without waiting. The descriptors (at most
// kMaxFrameDescriptors) accompany the first byte; the caller keeps them. Returns and sets errno as
// sendmsg() does.
[[nodiscard]] ssize_t send_some(int socket, ByteView bytes, std::span<const int> descriptors);
// Waits until poll() reports `events` (POLLIN, POLLOUT) for `socket`, or its end. Returns false
// when neither happens before `deadline`.
[[nodiscard]] bool wait_for(int socket, short events, Steady::time_point deadline);

// Closes descriptors that another process chose. Does not wait for what a socket has not sent yet,
// but can wait for a file system of the sender.
void close_foreign(std::vector<Descriptor>& descriptors);

// One end of a socket. Only one thread may call receive(); any thread may call send() and
// shut_down().
class FrameChannel {
 public:
  // Takes over `socket`, a connected SOCK_STREAM.
  explicit FrameChannel(Descriptor socket);

  [[nodiscard]] int socket() const { return socket_.get(); }

  // Ends the connection when this process ends, also while another process, such as a child that
  // inherited the socket, keeps it open. `process` is a pidfd. Must be called before receive(), by
  // its thread.
  void end_with(Descriptor process) { process_ = std::move(process); }

  // Waits until there is something to receive or the other side has closed the connection, or the
  // process of end_with() has ended, which shuts the connection down. Returns false when none of
  // these happens before `deadline`.
  [[nodiscard]] bool wait(Steady::time_point deadline) const;

  // Returns true once the process of end_with() has ended.
  [[nodiscard]] bool process_ended() const;

  // Receives one frame, and never reads bytes after it. Calls `begin` with the length of the body
  // before it allocates memory for the body; an error of `begin` is returned.
  // Errors: cancelled when the other side closed the connection, or shut_down() was called, before
  // the frame's first byte; file-unreadable when that happens later, and for a socket that fails;
  // request-timeout; limit-exceeded for a length above the limit; invalid-parameter for too many
  // descriptors, or descriptors that do not come with the length. After an error the caller must
  // not receive again; descriptors that came with the frame are added to `refused` then, because
  // closing them can wait. Without `refused` they are closed.
  [[nodiscard]] Result<Frame> receive(const FrameLimits& limits,
                                      const std::function<Status(std::size_t length)>& begin = {},
                                      std::vector<Descriptor>* refused = nullptr) const;

  // Sends a frame without waiting. On an error the connection is shut down, so an owner (a process
  // that registers memory) that does not read loses its connection.
  // Errors: cancelled when the frame does not fit into the socket's buffer, the other side has
  // closed the connection, or there are more than kMaxFrameDescriptors descriptors.
  [[nodiscard]] Status send(ByteView body, std::span<const int> descriptors = {});

  // Ends both directions. A receive() that is waiting returns.
  void shut_down() const;
  // Ends both directions, and closes the descriptors that were sent and never received, which can
  // wait. Without this call, whoever closes the socket closes them. Must be called by
  // the thread of receive().
  void drain() const;

 private:
  Descriptor socket_;
  Descriptor process_;  // empty: the connection does not depend on a process
  std::mutex sending_;
};

}  // namespace assay
