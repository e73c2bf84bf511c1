// SPDX-License-Identifier: Apache-2.0
// assay-verifier-host by itself, with messages that its callers never send, and with less of the
// system than it needs. Whatever it gets, it answers calls afterwards, or ends.
#include <cstring>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <gtest/gtest.h>

#include "attestation/plugin/wire.h"
#include "schemas/posix/child_process.h"
#include "schemas/posix/memory_file.h"
#include "tests/attestation/limits.h"
#include "tests/attestation/plugin_support.h"

namespace assay::attestation::plugin {
namespace {

using std::chrono::seconds;

constexpr seconds kPatience{20};  // on a machine with much else to do

template <typename T>
ByteView view_of(const T& value) {
  return {static_cast<const std::uint8_t*>(static_cast<const void*>(&value)), sizeof value};
}

struct Ends {
  Descriptor first;
  Descriptor second;
};

Ends socket_pair() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

Ends pipe_pair() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

// A request to the wicked plug-in to do what is good.
Descriptor good_request() {
  const ReportDataBytes data = test::expected_report_data();
  const std::array<std::string_view, kParts> parts = {
      "wicked", "application/vnd.example.wicked", as_text(data), "good", "", "null", "{}"};
  RequestHeader header{.version = kWireVersion, .purpose = 0, .now = 0, .sizes = {}};
  std::string text;
  for (std::size_t i = 0; i < kParts; ++i) {
    header.sizes[i] = parts.at(i).size();
    text += parts.at(i);
  }
  return sealed_memory("request", {view_of(header), as_bytes(text)}, Executable::kNo).value();
}

class RunningHost {
 public:
  // `descriptors`: how many numbers of descriptors it may have; 0: as many as this process.
  explicit RunningHost(int plugin, int descriptors = 0) {
    const Ends ends = socket_pair();
    const std::string program = test::host_options().program;
    ChildProgram child{.path = program, .words = {"assay-verifier-host"}};
    if (descriptors > 0) {
      child = {.path = "/bin/sh",
               .words = {"sh", "-c", "ulimit -n " + std::to_string(descriptors) + "; exec \"$0\"",
                         program}};
    }
    child.inherits_environment = false;
    child.inherits_errors = false;
    const std::array<int, 2> given = {ends.second.get(), plugin};
    process_.emplace(ChildProcess::start(child, given).value());
    socket_ = Descriptor(::dup(ends.first.get()));
  }

  [[nodiscard]] std::string end() {
    return process_->wait(std::chrono::steady_clock::now() + kPatience);
  }

  void close_socket() { (void)socket_.close(); }

  // Sends a message with these descriptors.
  void send(ByteView bytes, const std::vector<int>& numbers) const {
    alignas(cmsghdr) std::array<char, CMSG_SPACE(4 * sizeof(int))> room{};
    iovec data{const_cast<std::uint8_t*>(bytes.data()), bytes.size()};  // NOLINT: only read
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    if (!numbers.empty()) {
      const std::size_t size = numbers.size() * sizeof(int);
      message.msg_control = room.data();
      message.msg_controllen = CMSG_SPACE(size);
      cmsghdr* const head = CMSG_FIRSTHDR(&message);
      head->cmsg_level = SOL_SOCKET;
      head->cmsg_type = SCM_RIGHTS;
      head->cmsg_len = CMSG_LEN(size);
      std::memcpy(CMSG_DATA(head), numbers.data(), size);
    }
    (void)::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
  }

  // Makes a call. Returns what came out of its pipe.
  [[nodiscard]] Bytes call(int request) const {
    Ends pipe = pipe_pair();
    send(view_of(CallMessage{kWireVersion, 10'000}), {request, pipe.second.get()});
    (void)pipe.second.close();
    return read_all(pipe.first.get());
  }

  // "accepted", "nothing", or the number of another kind of answer.
  [[nodiscard]] std::string outcome(int request) const {
    const Bytes bytes = call(request);
    AnswerHeader header{};
    if (bytes.size() < sizeof header) {
      return "nothing";
    }
    std::memcpy(&header, bytes.data(), sizeof header);
    const std::string_view text = as_text(ByteView(bytes).subspan(sizeof header));
    EXPECT_EQ(text.size(), header.size);
    return text.find("\"accepted\"") != text.npos
               ? "accepted"
               : "kind " + std::to_string(std::to_underlying(header.kind));
  }
  [[nodiscard]] std::string outcome() const { return outcome(good_request().get()); }

  static Bytes read_all(int pipe) {
    Bytes all;
    Bytes block(4096);
    while (true) {
      pollfd wait{pipe, POLLIN, 0};
      const int found =
          ::poll(&wait, 1, static_cast<int>(kPatience / std::chrono::milliseconds(1)));
      const ssize_t got = found == 1 ? ::read(pipe, block.data(), block.size()) : -1;
      EXPECT_GE(got, 0) << "nothing came, and nothing ended";
      if (got <= 0) {
        return all;
      }
      all.insert(all.end(), block.begin(), block.begin() + got);
    }
  }

 private:
  Descriptor socket_;
  std::optional<ChildProcess> process_;
};

Descriptor wicked_file() { return read_plugin(test::plugin_path("wicked")).value().memory; }

TEST(VerifierHost, WithoutItsDescriptors_EndsAtOnce) {
  const ChildProgram program{.path = test::host_options().program,
                             .words = {"assay-verifier-host"},
                             .inherits_environment = false,
                             .inherits_errors = false};
  const Ends ends = socket_pair();
  const std::array<int, 1> one = {ends.first.get()};
  for (const std::span<const int> given : {std::span<const int>(), std::span<const int>(one)}) {
    auto process = ChildProcess::start(program, given).value();
    EXPECT_EQ(process.wait(std::chrono::steady_clock::now() + kPatience), "exit status 2");
  }
}

TEST(VerifierHost, WhoseCallerHasGone_Ends) {
  const Descriptor plugin = wicked_file();
  RunningHost host(plugin.get());
  ASSERT_EQ(host.outcome(), "accepted");
  host.close_socket();
  EXPECT_EQ(host.end(), "exit status 0");
}

TEST(VerifierHost, MessagesThatAreNoCall_AreForgotten) {
  const Descriptor plugin = wicked_file();
  const RunningHost host(plugin.get());
  ASSERT_EQ(host.outcome(), "accepted");
  const Descriptor request = good_request();
  const CallMessage good{kWireVersion, 1'000};
  const CallMessage other{kWireVersion + 1, 1'000};
  const auto nothing_comes = [&](ByteView message, bool with_request) {
    Ends pipe = pipe_pair();
    std::vector<int> numbers = {pipe.second.get()};
    if (with_request) {
      numbers.insert(numbers.begin(), request.get());
    }
    host.send(message, numbers);
    (void)pipe.second.close();
    return RunningHost::read_all(pipe.first.get()).empty();
  };
  EXPECT_TRUE(nothing_comes(view_of(other), true)) << "of another version";
  EXPECT_TRUE(nothing_comes(view_of(good).first(4), true)) << "cut";
  EXPECT_TRUE(nothing_comes(view_of(good), false)) << "with one descriptor";
  host.send(view_of(good), {});
  EXPECT_EQ(host.outcome(), "accepted");
}

// Descriptors of such messages are closed, or there would be none left for calls.
TEST(VerifierHost, ManyMessagesThatAreNoCall_LeaveNothingBehind) {
  const Descriptor plugin = wicked_file();
  const RunningHost host(plugin.get(), 100);
  ASSERT_EQ(host.outcome(), "accepted");
  const Descriptor request = good_request();
  for (int i = 0; i < 200; ++i) {
    host.send(view_of(CallMessage{kWireVersion, 1'000}), {request.get()});
    host.send(view_of(CallMessage{kWireVersion + 1, 1'000}), {request.get(), request.get()});
  }
  EXPECT_EQ(host.outcome(), "accepted");
}

TEST(VerifierHost, RequestsThatAreNone_EndTheirProcessAlone) {
  const Descriptor plugin = wicked_file();
  const RunningHost host(plugin.get());
  RequestHeader header{.version = kWireVersion, .purpose = 0, .now = 0, .sizes = {}};
  const auto of_header = [&](std::size_t part, std::uint64_t size) {
    header.sizes[part] = size;
    Descriptor file = sealed_memory("request", {view_of(header)}, Executable::kNo).value();
    header.sizes[part] = 0;
    return file;
  };
  EXPECT_EQ(host.outcome(of_header(0, 0).get()), "kind 5") << "a request for no type";
  EXPECT_EQ(host.outcome(of_header(0, 1).get()), "nothing");
  EXPECT_EQ(host.outcome(of_header(kParts - 1, UINT64_MAX).get()), "nothing");
  const Descriptor cut =
      sealed_memory("request", {view_of(header).first(sizeof header - 1)}, Executable::kNo).value();
  EXPECT_EQ(host.outcome(cut.get()), "nothing");
  const Ends pipe = pipe_pair();
  EXPECT_EQ(host.outcome(pipe.first.get()), "nothing") << "no file";
  const Descriptor huge(::memfd_create("request", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(huge.get(), off_t{1} << 30), 0);
  EXPECT_EQ(host.outcome(huge.get()), "nothing") << "more than a process has room for";
  EXPECT_EQ(host.outcome(), "accepted");
}

TEST(VerifierHost, PluginThatIsNoLibrary_IsSaidToBeNone) {
  const Descriptor text =
      sealed_memory("plugin", {as_bytes("no library")}, Executable::kYes).value();
  const RunningHost host(text.get());
  EXPECT_EQ(host.outcome(), "kind 2");
  const Ends ends = socket_pair();
  const RunningHost without(ends.first.get());
  EXPECT_EQ(without.outcome(), "nothing") << "a plug-in that cannot be opened";
  EXPECT_EQ(without.outcome(), "nothing");
}

// The first numbers that are too few for a child at all, then for its pair of sockets.
TEST(VerifierHost, WithoutRoomForOneProcess_Ends) {
  const Descriptor plugin = wicked_file();
  for (const int descriptors : {6, 7}) {
    RunningHost host(plugin.get(), descriptors);
    EXPECT_EQ(host.end(), "exit status 71") << descriptors;
  }
}

// Processes that lack what locks them in answer nothing.
TEST(VerifierHost, WithoutRoomInItsProcesses_AnswersNothing) {
  const Descriptor plugin = wicked_file();
  for (const int descriptors : {8, 9, 40, 65}) {
    const RunningHost host(plugin.get(), descriptors);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(host.outcome(), "nothing") << descriptors;
    }
  }
}

}  // namespace
}  // namespace assay::attestation::plugin
