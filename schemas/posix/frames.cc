// SPDX-License-Identifier: Apache-2.0
#include "schemas/posix/frames.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <poll.h>
#include <sys/socket.h>
#include <utility>

namespace assay {
namespace {

constexpr std::size_t kLength = 4;                    // bytes
constexpr std::size_t kStep = std::size_t{64} << 10;  // memory is set aside as bytes come

std::unexpected<Error> broken() {
  return fail(ErrorCode::kFileUnreadable, "the connection failed, or ended within a frame");
}
std::unexpected<Error> late() {
  return fail(ErrorCode::kRequestTimeout, "the other side took too long");
}
std::unexpected<Error> ended() { return fail(ErrorCode::kCancelled, "the connection has ended"); }

// Rounded up, so that a wait does not end before its deadline; -1: for ever.
int wait_ms(Steady::time_point deadline) {
  if (deadline == Steady::time_point::max()) {
    return -1;
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Steady::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1'000'000));
}

// Waits until poll() reports something for one of `waits`. Returns false when that does not happen
// before `deadline`.
bool wait_for_any(std::span<pollfd> waits, Steady::time_point deadline) {
  while (true) {
    const int ready = ::poll(waits.data(), waits.size(), wait_ms(deadline));
    if (ready > 0 || (ready < 0 && errno != EINTR)) {
      return true;
    }
    if (ready == 0 && Steady::now() >= deadline) {
      return false;
    }
  }
}

// Takes the descriptors out of a message, those too that nobody wants.
void take_descriptors(msghdr& message, std::vector<Descriptor>& out) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    for (std::size_t at = CMSG_LEN(0); at + sizeof(int) <= part->cmsg_len; at += sizeof(int)) {
      int number = -1;
      std::memcpy(&number, reinterpret_cast<const std::uint8_t*>(part) + at, sizeof(number));
      out.emplace_back(number);
    }
  }
}

// Receives what is there, without waiting, with all its descriptors: those for which a message has
// no room are closed by the kernel, in this call, which then waits as close() does.
ssize_t receive_now(int socket, std::span<std::uint8_t> out, std::vector<Descriptor>& descriptors,
                    int& flags) {
  alignas(cmsghdr) std::array<std::uint8_t, CMSG_SPACE(kMaxFrameDescriptors * sizeof(int))>
      control{};
  iovec data{out.data(), out.size()};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t count = -1;
  do {
    count = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  } while (count < 0 && errno == EINTR);
  if (count > 0) {
    take_descriptors(message, descriptors);
  }
  flags = message.msg_flags;
  return count;
}

// Reads the bytes of one frame.
class Reader {
 public:
  // Descriptors that come are put into `descriptors`, those too that do not belong.
  Reader(const FrameChannel& channel, const FrameLimits& limits,
         std::vector<Descriptor>& descriptors)
      : channel_(channel), limits_(limits), descriptors_(descriptors) {}

  // Fills `out`. Errors: invalid-parameter as soon as more than `most` descriptors came in all.
  Status fill(std::span<std::uint8_t> out, std::size_t most) {
    while (!out.empty()) {
      if (!channel_.wait(deadline())) {
        return late();
      }
      // What a dead process sent, or what its children send, says nothing about its memory.
      if (channel_.process_ended()) {
        return ended();
      }
      const Result<std::size_t> count = receive_some(out, most);
      if (!count) {
        return std::unexpected(count.error());
      }
      out = out.subspan(*count);
      idle_from_ = Steady::now();
    }
    return {};
  }

 private:
  [[nodiscard]] Steady::time_point deadline() const {
    if (!begun_) {
      return std::min(limits_.begin, limits_.end);
    }
    const bool endless = limits_.idle == Steady::duration::max();
    return endless ? limits_.end : std::min(limits_.end, idle_from_ + limits_.idle);
  }

  Result<std::size_t> receive_some(std::span<std::uint8_t> out, std::size_t most) {
    int flags = 0;
    const ssize_t count = receive_now(channel_.socket(), out, descriptors_, flags);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return std::size_t{0};
    }
    if (count <= 0) {
      return !begun_ && count == 0 ? ended() : broken();
    }
    begun_ = true;
    if ((flags & MSG_CTRUNC) != 0 || descriptors_.size() > most) {
      return fail(ErrorCode::kInvalidParameter,
                  "descriptors come where none belong, or too many at once");
    }
    return static_cast<std::size_t>(count);
  }

  const FrameChannel& channel_;
  const FrameLimits& limits_;
  std::vector<Descriptor>& descriptors_;
  bool begun_ = false;
  Steady::time_point idle_from_{};
};

}  // namespace

Bytes frame_of(ByteView body) {
  const auto length = static_cast<std::uint32_t>(body.size());
  Bytes frame = {static_cast<std::uint8_t>(length), static_cast<std::uint8_t>(length >> 8),
                 static_cast<std::uint8_t>(length >> 16), static_cast<std::uint8_t>(length >> 24)};
  frame.insert(frame.end(), body.begin(), body.end());
  return frame;
}

ssize_t send_some(int socket, ByteView bytes, std::span<const int> descriptors) {
  alignas(cmsghdr) std::array<std::uint8_t, CMSG_SPACE(kMaxFrameDescriptors * sizeof(int))>
      control{};
  iovec data{const_cast<std::uint8_t*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (descriptors.size() > kMaxFrameDescriptors) {
    errno = EINVAL;
    return -1;
  }
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
  ssize_t count = -1;
  do {
    count = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (count < 0 && errno == EINTR);
  return count;
}

bool wait_for(int socket, short events, Steady::time_point deadline) {
  std::array waits{pollfd{socket, events, 0}};
  return wait_for_any(waits, deadline);
}

void close_foreign(std::vector<Descriptor>& descriptors) {
  constexpr linger kDoNotWait{.l_onoff = 0, .l_linger = 0};
  for (const Descriptor& descriptor : descriptors) {
    // Fails for what is no socket.
    (void)::setsockopt(descriptor.get(), SOL_SOCKET, SO_LINGER, &kDoNotWait, sizeof(kDoNotWait));
  }
  descriptors.clear();
}

FrameChannel::FrameChannel(Descriptor socket) : socket_(std::move(socket)) {}

bool FrameChannel::wait(Steady::time_point deadline) const {
  // A negative number is skipped.
  std::array waits{pollfd{socket_.get(), POLLIN, 0}, pollfd{process_.get(), POLLIN, 0}};
  const bool something = wait_for_any(waits, deadline);
  if (waits[1].revents != 0) {
    shut_down();
  }
  return something;
}

bool FrameChannel::process_ended() const {
  pollfd wait{process_.get(), POLLIN, 0};
  return process_ && ::poll(&wait, 1, 0) != 0;
}

namespace {

Status receive_frame(Reader& reader, const FrameLimits& limits,
                     const std::function<Status(std::size_t length)>& begin, Frame& frame) {
  std::array<std::uint8_t, kLength> head{};
  ASSAY_TRY(reader.fill(head, limits.descriptors));
  const std::size_t belong = frame.descriptors.size();
  const std::size_t length = head[0] | (std::size_t{head[1]} << 8) | (std::size_t{head[2]} << 16) |
                             (std::size_t{head[3]} << 24);
  if (length > limits.bytes) {
    return fail(ErrorCode::kLimitExceeded, "the frame is too long");
  }
  if (begin) {
    ASSAY_TRY(begin(length));
  }
  while (frame.body.size() < length) {
    const std::size_t at = frame.body.size();
    const std::size_t step = std::min(length - at, std::max(kStep, at));
    frame.body.resize(at + step);
    ASSAY_TRY(reader.fill(std::span(frame.body).subspan(at), belong));
  }
  return {};
}

}  // namespace

Result<Frame> FrameChannel::receive(const FrameLimits& limits,
                                    const std::function<Status(std::size_t length)>& begin,
                                    std::vector<Descriptor>* refused) const {
  Frame frame;
  Reader reader(*this, limits, frame.descriptors);
  if (Status status = receive_frame(reader, limits, begin, frame); !status) {
    if (refused != nullptr) {
      std::ranges::move(frame.descriptors, std::back_inserter(*refused));
      frame.descriptors.clear();
    }
    close_foreign(frame.descriptors);
    return std::unexpected(std::move(status).error());
  }
  return frame;
}

Status FrameChannel::send(ByteView body, std::span<const int> descriptors) {
  const Bytes frame = frame_of(body);
  const std::lock_guard lock(sending_);
  if (!std::cmp_equal(send_some(socket_.get(), frame, descriptors), frame.size())) {
    shut_down();
    return ended();
  }
  return {};
}

// The other side sends nothing more once both directions have ended.
void FrameChannel::drain() const {
  shut_down();
  std::array<std::uint8_t, 4096> bytes{};
  std::vector<Descriptor> descriptors;
  int flags = 0;
  while (receive_now(socket_.get(), bytes, descriptors, flags) > 0) {
    close_foreign(descriptors);
  }
}

void FrameChannel::shut_down() const { (void)::shutdown(socket_.get(), SHUT_RDWR); }

}  // namespace assay
