// SPDX-License-Identifier: Apache-2.0
#include "attestation/verifier_host/host.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "attestation/plugin/wire.h"
#include "attestation/verifier_host/child.h"
#include "schemas/posix/descriptor.h"

namespace assay::attestation::verifier_host {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxChildren = 16;
// Children that wait for a call with the plug-in loaded: while one takes a call, the next call
// finds another.
constexpr std::size_t kSpares = 2;
// A fork would hold up the call that was just passed on, so spares are made when its child has
// ended, or when this much time has passed.
constexpr std::chrono::milliseconds kRefillAfter{2};
constexpr std::uint32_t kMaxDeadlineMs = 60'000;
constexpr int kLost = 71;
// Loading is given as much time as a call, by default.
constexpr std::chrono::milliseconds kLoadTime{2'000};
// Processor time of a child, loading included. A deadline of wall time ends it earlier, as a rule.
constexpr std::uint32_t kCpuSeconds = 15;

// A call: what to pass on to a child.
struct Call {
  plugin::CallMessage message{};
  Descriptor request;
  Descriptor pipe;
};

struct Child {
  pid_t pid = -1;
  Descriptor end;     // pidfd
  Descriptor socket;  // until it said that it is ready and has its call
  bool ready = false;
  bool called = false;
  std::optional<Clock::time_point> deadline;
};

class Host {
 public:
  Host(int socket, int plugin) : socket_(socket), plugin_(plugin) {}

  int serve() {
    if (!fork_spare()) {
      return kLost;
    }
    int status = -1;
    while (status < 0) {
      status = turn();
    }
    return status;  // children end with this process
  }

 private:
  // Waits for something to do, and does it. Returns the exit status at the end, else -1.
  int turn() {
    std::vector<pollfd> waits;
    waits.push_back({children_.size() < kMaxChildren ? socket_ : -1, POLLIN, 0});
    for (const Child& child : children_) {
      waits.push_back({child.end.get(), POLLIN, 0});
      waits.push_back({child.ready ? -1 : child.socket.get(), POLLIN, 0});
    }
    if (::poll(waits.data(), waits.size(), patience()) < 0 && errno != EINTR) {
      return kLost;
    }
    for (std::size_t i = 0; i < children_.size(); ++i) {
      look_at(children_[i], waits[1 + 2 * i].revents, waits[2 + 2 * i].revents);
    }
    std::erase_if(children_, [](const Child& child) { return child.pid < 0; });
    if (waits.front().revents != 0) {
      return take_call();
    }
    if (refill_at_ <= Clock::now()) {
      refill();
    }
    return -1;
  }

  // Milliseconds until there is something to do without an event; -1: for ever.
  [[nodiscard]] int patience() const {
    Clock::time_point next = refill_at_;
    for (const Child& child : children_) {
      next = std::min(next, child.deadline.value_or(Clock::time_point::max()));
    }
    if (next == Clock::time_point::max()) {
      return -1;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
    return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
  }

  void look_at(Child& child, short ended, short said) {
    if (said != 0) {
      char word = 0;
      child.ready = ::recv(child.socket.get(), &word, 1, MSG_DONTWAIT) == 1;
      loads_ = child.ready;
      if (child.called) {
        (void)child.socket.close();
      } else if (child.ready) {
        child.deadline.reset();  // a spare waits as long as it takes
      }
    }
    if (ended != 0) {
      siginfo_t end{};
      (void)::waitid(P_PID, static_cast<id_t>(child.pid), &end, WEXITED);
      loads_ &= child.ready;
      if (child.called) {  // a child that ends without a call would only do so again
        refill_at_ = Clock::now();
      }
      child = Child{};
      return;
    }
    if (child.deadline && *child.deadline <= Clock::now()) {
      // Its number is not given to another process before its end was seen.
      (void)::kill(child.pid, SIGKILL);
      child.called = true;  // it takes none
      child.deadline.reset();
    }
  }

  // Adds a child that loads the plug-in. Returns false when the system has no room for it.
  bool fork_spare() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      return false;
    }
    Descriptor own(ends[0]);
    const Descriptor theirs(ends[1]);
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid == 0) {
      serve_one_call(theirs.get(), plugin_, parent, kCpuSeconds);
    }
    if (pid < 0) {
      return false;
    }
    Child child;
    child.pid = pid;
    child.end = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    child.socket = std::move(own);
    child.deadline = Clock::now() + kLoadTime;
    if (!child.end) {
      (void)::kill(pid, SIGKILL);
      (void)::waitpid(pid, nullptr, 0);
      return false;
    }
    children_.push_back(std::move(child));
    return true;
  }

  // A child that has no call yet, rather one that has loaded the plug-in.
  Child* spare() {
    const auto free = [](const Child& child) { return !child.called; };
    const auto found = std::ranges::find_if(
        children_, [&](const Child& child) { return free(child) && child.ready; });
    const auto any = found == children_.end() ? std::ranges::find_if(children_, free) : found;
    return any == children_.end() ? nullptr : &*any;
  }

  // One fork a turn, so that calls are not held up by several.
  void refill() {
    refill_at_ = Clock::time_point::max();
    const auto spares =
        std::ranges::count_if(children_, [](const Child& child) { return !child.called; });
    // Where loading fails, each call has a fork of its own, and nothing is forked between calls.
    if (!loads_ || spares >= static_cast<std::ptrdiff_t>(kSpares) ||
        children_.size() >= kMaxChildren || !fork_spare()) {
      return;
    }
    refill_at_ = Clock::now();
  }

  int take_call() {
    std::optional<Call> call;
    if (!receive(call)) {
      return 0;
    }
    if (!call) {
      return -1;
    }
    // Without a child the pipe is closed, which is the answer.
    if (spare() == nullptr && !fork_spare()) {
      return -1;
    }
    Child& child = *spare();
    pass_on(*call, child);
    // The descriptors of `call` are closed by then, so that no other process has them.
    refill_at_ = Clock::now() + kRefillAfter;
    return -1;
  }

  // Returns false when the other side closed the socket. Leaves `call` empty for what is no call.
  bool receive(std::optional<Call>& call) const {
    Call taken;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(2 * sizeof(int))> room{};
    iovec data{&taken.message, sizeof taken.message};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = room.data();
    message.msg_controllen = room.size();
    const ssize_t size = ::recvmsg(socket_, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (size <= 0) {
      return size < 0 && (errno == EAGAIN || errno == EINTR);
    }
    const cmsghdr* const head = CMSG_FIRSTHDR(&message);
    if (head == nullptr || head->cmsg_type != SCM_RIGHTS) {
      return true;
    }
    // One alone arrives where this process may not have another. It is closed then, too.
    std::array<int, 2> numbers = {-1, -1};
    std::memcpy(numbers.data(), CMSG_DATA(head),
                std::min(sizeof numbers, head->cmsg_len - CMSG_LEN(0)));
    taken.request = Descriptor(numbers[0]);
    taken.pipe = Descriptor(numbers[1]);
    if (taken.pipe && size == sizeof taken.message &&
        taken.message.version == plugin::kWireVersion) {
      call = std::move(taken);
    }
    return true;
  }

  static void pass_on(const Call& call, Child& child) {
    const std::array<int, 2> numbers = {call.request.get(), call.pipe.get()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof numbers)> room{};
    plugin::CallMessage copy = call.message;
    iovec data{&copy, sizeof copy};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = room.data();
    message.msg_controllen = room.size();
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof numbers);
    std::memcpy(CMSG_DATA(head), numbers.data(), sizeof numbers);
    (void)::sendmsg(child.socket.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    child.called = true;
    if (child.ready) {
      (void)child.socket.close();
    }
    child.deadline = Clock::now() +
                     std::chrono::milliseconds(std::min(call.message.deadline_ms, kMaxDeadlineMs));
  }

  const int socket_;
  const int plugin_;
  std::vector<Child> children_;
  bool loads_ = true;                           // the newest child that was to load the plug-in did
  Clock::time_point refill_at_ = Clock::now();  // when to see whether children are missing
};

}  // namespace

int serve(int socket, int plugin) { return Host(socket, plugin).serve(); }

}  // namespace assay::attestation::verifier_host
