// SPDX-License-Identifier: Apache-2.0
#include "attestation/plugin/host.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <mutex>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attestation/plugin.h"
#include "attestation/plugin/wire.h"
#include "schemas/evidence.h"
#include "schemas/posix/child_process.h"
#include "schemas/posix/memory_file.h"

namespace assay::attestation::plugin {
namespace {

using Clock = std::chrono::steady_clock;

static_assert(kHostSocket == kFirstChildDescriptor && kHostPlugin == kFirstChildDescriptor + 1);

std::unexpected<Error> failed(std::string why) {
  return fail(ErrorCode::kVerifierFailed, std::move(why));
}
std::unexpected<Error> unavailable(std::string why) {
  return fail(ErrorCode::kUnavailable, std::move(why));
}

std::uint32_t purpose_of(Purpose purpose) {
  switch (purpose) {
    case Purpose::kEnrol:
      return ASSAY_PURPOSE_ENROL;
    case Purpose::kStage:
      return ASSAY_PURPOSE_STAGE;
    case Purpose::kInspect:
    case Purpose::kDevice:  // no plug-in's type is that of a device
      break;
  }
  return ASSAY_PURPOSE_INSPECT;
}

// The longest evidence always leaves room for the policy, which a signed document of 1 MiB brings
// in base64.
constexpr std::size_t kRoomForPolicy = std::size_t{768} << 10;
static_assert(kMaxOtherEvidenceBytes + kMaxEventLogBytes + kMaxEvidenceCollateralBytes +
                  kRoomForPolicy <=
              kMaxRequestBytes);

Result<Descriptor> request_of(const PluginCall& call) {
  const std::array<ByteView, kParts> parts = {
      as_bytes(call.type), as_bytes(call.media_type),   call.report_data,     call.evidence,
      call.event_log,      as_bytes(call.endorsements), as_bytes(call.policy)};
  RequestHeader header{};
  header.version = kWireVersion;
  header.purpose = purpose_of(call.purpose);
  header.now = call.now;
  std::size_t total = sizeof header;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    header.sizes[i] = parts.at(i).size();
    total += parts.at(i).size();
  }
  if (total > kMaxRequestBytes) {
    return fail(ErrorCode::kLimitExceeded, "a plug-in takes at most 8 MiB of evidence and policy");
  }
  const auto head = std::bit_cast<std::array<std::uint8_t, sizeof header>>(header);
  return sealed_memory("assay-call",
                       {head, parts[0], parts[1], parts[2], parts[3], parts[4], parts[5], parts[6]},
                       Executable::kNo);
}

// Sends a message with two descriptors. Returns false with errno set.
bool send_call(int socket, const CallMessage& call, const std::array<int, 2>& numbers) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof numbers)> room{};
  CallMessage copy = call;
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
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof copy;
}

// What arrived until the pipe was closed, or until there was more than an answer can have.
struct Arrived {
  Bytes bytes;
  bool in_time = false;
};

Arrived read_answer(int pipe, Clock::time_point deadline) {
  constexpr std::size_t kMost = sizeof(AnswerHeader) + kMaxAnswerBytes + 1;
  Arrived arrived;
  arrived.bytes.resize(kMost);
  std::size_t size = 0;
  while (size < kMost) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd wait{pipe, POLLIN, 0};
    const int found = left.count() <= 0 ? 0 : ::poll(&wait, 1, static_cast<int>(left.count()));
    if (found == 0) {
      return {};
    }
    const ssize_t got = found < 0 ? -1 : ::read(pipe, arrived.bytes.data() + size, kMost - size);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      break;
    }
    size += static_cast<std::size_t>(got);
  }
  arrived.bytes.resize(size);
  arrived.in_time = true;
  return arrived;
}

// Text of a stranger, for the log.
std::string printable(ByteView bytes) {
  std::string text(as_text(bytes.first(std::min<std::size_t>(bytes.size(), 512))));
  std::ranges::replace_if(text, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

Result<Bytes> unpack(const Arrived& arrived) {
  AnswerHeader header{};
  if (arrived.bytes.size() < sizeof header) {
    return failed("the plug-in ended before it had answered: it crashed, or did what it may not");
  }
  std::memcpy(&header, arrived.bytes.data(), sizeof header);
  const ByteView rest = ByteView(arrived.bytes).subspan(sizeof header);
  if (header.size != rest.size() || header.size > kMaxAnswerBytes) {
    return failed("the plug-in wrote more or less than an answer");
  }
  switch (header.kind) {
    case AnswerKind::kAnswer:
      return Bytes(rest.begin(), rest.end());
    case AnswerKind::kNotLoaded:
      return failed("the plug-in cannot be loaded: " + printable(rest));
    case AnswerKind::kNoPlugin:
      return failed("the file exports no complete " ASSAY_PLUGIN_SYMBOL);
    case AnswerKind::kOtherVersion:
      return failed("the plug-in is for another version of attestation/plugin.h");
    case AnswerKind::kOtherType:
      return failed("the plug-in is for another type of evidence or media type: " +
                    printable(rest));
    case AnswerKind::kNoDecision:
      return failed("the plug-in did not decide");
    case AnswerKind::kTooLong:
      return failed("the plug-in claims an answer that is too long");
  }
  return failed("the plug-in wrote no answer");
}

class ProcessHost final : public Host {
 public:
  ProcessHost(PluginFile file, HostOptions options)
      : file_(std::move(file)),
        options_(std::move(options)),
        under_way_(options_.under_way != nullptr ? options_.under_way
                                                 : std::make_shared<std::atomic<std::size_t>>(0)) {}

  [[nodiscard]] Result<Bytes> call(const PluginCall& call) override {
    const Turn turn(*under_way_);
    if (turn.number() > options_.max_calls) {
      return unavailable("plug-ins are busy with as many calls as they may have");
    }
    ASSAY_ASSIGN(const Descriptor request, request_of(call));
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
      return unavailable("the system has no more pipes");
    }
    const Descriptor reading(ends[0]);
    Descriptor writing(ends[1]);
    const auto deadline = Clock::now() + options_.deadline;
    ASSAY_ASSIGN(const std::uint64_t process, send(request.get(), writing.get()));
    (void)writing.close();
    const Arrived arrived = read_answer(reading.get(), deadline + options_.grace);
    if (!arrived.in_time) {
      abandon(process);
      return failed("the plug-in did not answer in time, and its host did not end it");
    }
    if (arrived.bytes.size() < sizeof(AnswerHeader) && Clock::now() >= deadline) {
      return failed("the plug-in did not answer within " +
                    std::to_string(options_.deadline.count()) + " ms");
    }
    return unpack(arrived);
  }

 private:
  // Counts the calls under way.
  class Turn {
   public:
    explicit Turn(std::atomic<std::size_t>& count) : count_(count), number_(++count) {}
    ~Turn() { --count_; }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    [[nodiscard]] std::size_t number() const { return number_; }

   private:
    std::atomic<std::size_t>& count_;
    const std::size_t number_;
  };

  struct Running {
    ChildProcess process;
    Descriptor socket;
    std::uint64_t number;
  };

  // Hands the call to the host, which is started when there is none. Returns the number of the
  // process that has it.
  Result<std::uint64_t> send(int request, int pipe) {
    const CallMessage message{kWireVersion, static_cast<std::uint32_t>(options_.deadline.count())};
    const std::scoped_lock lock(mutex_);
    for (int attempt = 0; attempt < 2; ++attempt) {
      if (!running_) {
        ASSAY_TRY(start());
      }
      if (send_call(running_->socket.get(), message, {request, pipe})) {
        return running_->number;
      }
      if (errno == EAGAIN || errno == ETOOMANYREFS) {
        return unavailable("the host of the plug-in has too many calls waiting");
      }
      running_.reset();  // it has ended
    }
    return unavailable("the host of the plug-in ends as soon as it is started");
  }

  // With mutex_ held.
  Status start() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      return unavailable("the system has no more sockets");
    }
    Descriptor own(ends[0]);
    const Descriptor theirs(ends[1]);
    const std::array<int, 2> descriptors = {theirs.get(), file_.memory.get()};
    const ChildProgram program{.path = options_.program,
                               .words = {"assay-verifier-host"},
                               .inherits_environment = false,
                               .inherits_errors = false};
    auto process = ChildProcess::start(program, descriptors);
    if (!process) {
      return unavailable("the host of plug-ins cannot be started: " + options_.program);
    }
    running_.emplace(*std::move(process), std::move(own), ++started_);
    return {};
  }

  void abandon(std::uint64_t process) {
    const std::scoped_lock lock(mutex_);
    if (running_ && running_->number == process) {
      running_.reset();
    }
  }

  const PluginFile file_;
  const HostOptions options_;
  const std::shared_ptr<std::atomic<std::size_t>> under_way_;
  std::mutex mutex_;  // guards what follows
  std::optional<Running> running_;
  std::uint64_t started_ = 0;
};

}  // namespace

std::unique_ptr<Host> Host::make(PluginFile file, HostOptions options) {
  return std::make_unique<ProcessHost>(std::move(file), std::move(options));
}

std::string default_host_program() {
  std::error_code error;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::string("assay-verifier-host")
               : (own.parent_path() / "assay-verifier-host").string();
}

}  // namespace assay::attestation::plugin
