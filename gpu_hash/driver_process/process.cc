// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/driver_process/process.h"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "schemas/core/printable.h"

namespace assay::gpu_hash {
namespace {

constexpr std::size_t kMaxEnd = 4096;  // bytes of standard error that are kept
constexpr std::size_t kMaxLine = 300;  // bytes of it that are shown
// For the end of a process whose socket is closed; then it is killed.
constexpr std::chrono::seconds kToEnd{3};

std::unexpected<Error> no_process(const std::string& why) {
  return fail(ErrorCode::kDeviceFailed, "the process for drivers cannot be started: " + why);
}

struct Pair {
  Descriptor ours;
  Descriptor theirs;
};

Result<Pair> make_socket() {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return no_process("the system has no more sockets");
  }
  return Pair{Descriptor(ends[0]), Descriptor(ends[1])};
}

// Neither end blocks: a driver that writes much to standard error loses some of it.
Result<Pair> make_pipe() {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    return no_process("the system has no more pipes");
  }
  return Pair{Descriptor(ends[0]), Descriptor(ends[1])};
}

}  // namespace

void LastWords::drain() {
  std::array<char, kMaxEnd> some{};
  // At most what a pipe holds, in case somebody writes all the time.
  for (int i = 0; i < 16; ++i) {
    const ssize_t count = ::read(pipe_.get(), some.data(), some.size());
    if (count <= 0) {
      return;
    }
    end_.append(some.data(), static_cast<std::size_t>(count));
    end_.erase(0, end_.size() > kMaxEnd ? end_.size() - kMaxEnd : 0);
  }
}

std::string LastWords::line() const {
  std::string_view rest = end_;
  const std::size_t last = rest.find_last_not_of(" \t\r\n");
  if (last == std::string_view::npos) {
    return {};
  }
  rest = rest.substr(0, last + 1);
  const std::size_t begin = rest.rfind('\n');
  rest.remove_prefix(begin == std::string_view::npos ? 0 : begin + 1);
  const std::string shown = printable(rest);
  return std::string(utf8_prefix(shown, kMaxLine));
}

DriverProcess::DriverProcess(ChildProcess child, Descriptor socket, Descriptor errors,
                             std::string what, std::chrono::seconds patience)
    : child_(std::move(child)),
      link_(std::move(socket)),
      words_(std::move(errors)),
      what_(std::move(what)),
      patience_(patience) {}

Result<std::unique_ptr<DriverProcess>> DriverProcess::start(const DriverProgram& program,
                                                            const std::string& vendors,
                                                            std::string what) {
  ASSAY_ASSIGN(Pair socket, make_socket());
  ASSAY_ASSIGN(Pair errors, make_pipe());
  ChildProgram child_program{
      .path = program.path, .words = program.words, .errors = errors.theirs.get()};
  if (!vendors.empty()) {
    child_program.words.insert(child_program.words.end(), {program.vendors_option, vendors});
  }
  const int theirs = socket.theirs.get();
  auto child = ChildProcess::start(child_program, std::span(&theirs, 1));
  if (!child) {
    return no_process(child.error().detail);
  }
  (void)socket.theirs.close();
  (void)errors.theirs.close();
  std::unique_ptr<DriverProcess> process(
      new DriverProcess(*std::move(child), std::move(socket.ours), std::move(errors.ours),
                        std::move(what), program.times.silent));
  ASSAY_ASSIGN(const driver::FromProcess message, process->receive(program.times.silent));
  const auto* const hello = std::get_if<driver::Hello>(&message);
  if (hello == nullptr || hello->build != program.build) {
    return process->nonsense("it is not of this build");
  }
  return process;
}

DriverProcess::~DriverProcess() {
  link_.shut_down();
  if (!over_) {
    (void)child_.wait(Steady::now() + kToEnd);
  }
}

bool DriverProcess::is_idle() const { return !over_ && !link_.has_input(); }

std::string DriverProcess::last_words() {
  words_.drain();
  return words_.line();
}

std::unexpected<Error> DriverProcess::failed(const std::string& why, bool wait) {
  if (over_) {
    return std::unexpected(*over_);
  }
  link_.shut_down();
  std::string end;
  if (wait) {
    end = child_.wait(Steady::now() + kToEnd);
  }
  if (end.empty()) {
    child_.kill();
    (void)child_.wait(Steady::time_point::max());
    end = "killed";
  }
  std::string text = "the process of " + what_ + " " + why + " (" + end + ")";
  if (const std::string words = last_words(); !words.empty()) {
    text += ", last words: " + words;
  }
  over_ = Error{ErrorCode::kDeviceFailed, std::move(text), {}};
  return std::unexpected(*over_);
}

std::unexpected<Error> DriverProcess::nonsense(const std::string& why) {
  return failed("makes no sense: " + why, false);
}

Status DriverProcess::send(const driver::ToProcess& message, std::span<const int> descriptors) {
  if (over_) {
    return std::unexpected(*over_);
  }
  const Status sent = link_.send(driver::write(message), descriptors, Steady::now() + patience_);
  if (!sent) {
    const bool late = sent.error().code == ErrorCode::kRequestTimeout;
    return late ? failed("does not listen", false) : failed("ended", true);
  }
  return {};
}

Result<driver::FromProcess> DriverProcess::receive(std::chrono::seconds patience) {
  if (over_) {
    return std::unexpected(*over_);
  }
  const Result<Frame> frame =
      link_.receive({.bytes = driver::kMaxMessage, .end = Steady::now() + patience});
  words_.drain();
  if (!frame) {
    if (frame.error().code == ErrorCode::kRequestTimeout) {
      return failed("said nothing for " + std::to_string(patience.count()) + " s", false);
    }
    const bool gone = frame.error().code == ErrorCode::kCancelled ||
                      frame.error().code == ErrorCode::kFileUnreadable;
    return gone ? failed("ended", true) : nonsense(frame.error().detail);
  }
  auto message = driver::parse_from_process(frame->body);
  return message ? std::move(message) : nonsense(message.error().detail);
}

Error DriverProcess::error_of(const driver::Failed& failed) {
  constexpr std::array kOfEngines = {ErrorCode::kInvalidParameter,     ErrorCode::kLimitExceeded,
                                     ErrorCode::kFileChanged,          ErrorCode::kFileUnreadable,
                                     ErrorCode::kUnsupportedFileType,  ErrorCode::kDeviceFailed,
                                     ErrorCode::kDeviceSelfTestFailed, ErrorCode::kDeviceNotFound};
  Error error = messages::error_of(failed.problem)
                    .value_or(Error{ErrorCode::kDeviceFailed, "the driver gave no reason", {}});
  if (std::ranges::find(kOfEngines, error.code) == kOfEngines.end()) {
    error.code = ErrorCode::kDeviceFailed;
  }
  return error;
}

}  // namespace assay::gpu_hash
