// SPDX-License-Identifier: Apache-2.0
// Frames over a real socket: what a hostile other side can send, and that no descriptor stays.
#include "schemas/posix/frames.h"

#include <array>
#include <thread>

#include "schemas/instance_message.h"
#include "tests/support/vectors.h"
#include "tests/worker/instances/support.h"

namespace assay::worker {
namespace {

using assay::test::code_of;
using test::memory_file;
using test::open_descriptors;
using test::socket_pair;

constexpr auto kLong = std::chrono::seconds(60);

// A channel and the raw other end.
struct Ends {
  Ends() : Ends(socket_pair()) {}
  explicit Ends(std::pair<Descriptor, Descriptor> pair)
      : channel(std::move(pair.first)), other(std::move(pair.second)) {}
  FrameChannel channel;
  Descriptor other;
};

FrameLimits limits(std::size_t bytes, std::size_t descriptors = 0) {
  return {.bytes = bytes, .descriptors = descriptors, .end = Steady::now() + kLong};
}

// Sends bytes with descriptors beside the first.
void put(const Descriptor& socket, std::string_view bytes, const std::vector<int>& files = {}) {
  std::vector<std::uint8_t> control(CMSG_SPACE(files.size() * sizeof(int)));
  iovec data{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (!files.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(files.size() * sizeof(int));
    std::memcpy(CMSG_DATA(part), files.data(), files.size() * sizeof(int));
  }
  ASSERT_EQ(::sendmsg(socket.get(), &message, MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
}

std::string with_length(std::string_view body) {
  const auto size = static_cast<std::uint32_t>(body.size());
  std::string frame(4, '\0');
  for (std::size_t i = 0; i < frame.size(); ++i) {
    frame[i] = static_cast<char>(size >> (8 * i));
  }
  return frame.append(body);
}

TEST(Frames, OneAfterTheOther) {
  Ends ends;
  FrameChannel sender(std::move(ends.other));
  ASSERT_TRUE(sender.send(as_bytes("first")));
  ASSERT_TRUE(sender.send({}));
  ASSERT_TRUE(sender.send(as_bytes("third")));
  for (const char* expected : {"first", "", "third"}) {
    const auto frame = ends.channel.receive(limits(100));
    ASSERT_TRUE(frame);
    EXPECT_EQ(as_text(frame->body), expected);
  }
}

TEST(Frames, LargestFrameInPieces) {
  Ends ends;
  const std::string body(kMaxOwnerFrame, 'x');
  const std::string frame = with_length(body);
  std::jthread sender([&] {
    for (std::size_t at = 0; at < frame.size();) {
      const ssize_t count = ::send(ends.other.get(), frame.data() + at, frame.size() - at, 0);
      ASSERT_GT(count, 0);
      at += static_cast<std::size_t>(count);
    }
  });
  const auto got = ends.channel.receive(limits(kMaxOwnerFrame));
  ASSERT_TRUE(got);
  EXPECT_EQ(as_text(got->body), body);
}

TEST(Frames, AsManyDescriptorsAsTheKernelCarries) {
  const Descriptor file = memory_file(10);
  const std::size_t before = open_descriptors();
  {
    Ends ends;
    FrameChannel sender(std::move(ends.other));
    const std::vector<int> files(kMaxFrameDescriptors, file.get());
    ASSERT_TRUE(sender.send(as_bytes("body"), files));
    ASSERT_TRUE(sender.send(as_bytes("next")));
    const auto frame = ends.channel.receive(limits(100, kMaxFrameDescriptors));
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->descriptors.size(), kMaxFrameDescriptors);
    for (const Descriptor& descriptor : frame->descriptors) {
      EXPECT_EQ(::lseek(descriptor.get(), 0, SEEK_END), 10);
      EXPECT_EQ(::fcntl(descriptor.get(), F_GETFD), FD_CLOEXEC);
    }
    EXPECT_TRUE(ends.channel.receive(limits(100, kMaxFrameDescriptors))->descriptors.empty());
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Frames, DescriptorsWhereNoneBelong_AreRefusedAndClosed) {
  const Descriptor file = memory_file(10);
  const std::size_t before = open_descriptors();
  const std::vector<int> files(7, file.get());
  {
    Ends ends;  // not expected at all
    put(ends.other, with_length("body"), files);
    EXPECT_EQ(code_of(ends.channel.receive(limits(100))), "invalid-parameter");
  }
  {
    Ends ends;  // more than the limit
    put(ends.other, with_length("body"), files);
    EXPECT_EQ(code_of(ends.channel.receive(limits(100, 6))), "invalid-parameter");
  }
  {
    Ends ends;  // beside the body
    put(ends.other, with_length("body").substr(0, 4));
    put(ends.other, "body", files);
    EXPECT_EQ(code_of(ends.channel.receive(limits(100, 7))), "invalid-parameter");
  }
  {
    Ends ends;  // beside the next frame, which nobody reads
    put(ends.other, with_length("body"));
    put(ends.other, with_length("next"), files);
    EXPECT_EQ(code_of(ends.channel.receive(limits(100))), "ok");
  }
  {
    Ends ends;  // twice beside one frame
    put(ends.other, with_length("body").substr(0, 1), files);
    put(ends.other, with_length("body").substr(1, 2), files);
    EXPECT_EQ(code_of(ends.channel.receive(limits(100, 7))), "invalid-parameter");
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Frames, DescriptorsOfAFrameThatEndsEarly_AreClosed) {
  const Descriptor file = memory_file(10);
  const std::size_t before = open_descriptors();
  {
    Ends ends;
    put(ends.other, with_length("body").substr(0, 6), {file.get(), file.get()});
    (void)ends.other.close();
    EXPECT_EQ(code_of(ends.channel.receive(limits(100, 2))), "file-unreadable");
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Frames, LengthBeyondTheLimit_IsRefusedBeforeItsBytes) {
  Ends ends;
  put(ends.other, std::string("\x65\0\0\0", 4));
  EXPECT_EQ(code_of(ends.channel.receive(limits(100))), "limit-exceeded");
  Ends largest;
  put(largest.other, "\xff\xff\xff\xff");
  EXPECT_EQ(code_of(largest.channel.receive(limits(kMaxOwnerFrame))), "limit-exceeded");
}

TEST(Frames, WhoeverSetsAsideMemory_MayRefuseTheLength) {
  Ends ends;
  put(ends.other, with_length("body").substr(0, 4));
  std::size_t seen = 0;
  const auto frame = ends.channel.receive(limits(100), [&seen](std::size_t length) -> Status {
    seen = length;
    return fail(ErrorCode::kOverloaded, "no memory");
  });
  EXPECT_EQ(code_of(frame), "overloaded");
  EXPECT_EQ(seen, 4);
}

TEST(Frames, EndBetweenFrames_IsTheEnd) {
  Ends ends;
  (void)ends.other.close();
  EXPECT_EQ(code_of(ends.channel.receive(limits(100))), "cancelled");
}

// Deadlines that are over at the first look: no test waits.
TEST(Frames, SlowSenders_AreCutOff) {
  Ends silent;
  EXPECT_EQ(code_of(silent.channel.receive({.bytes = 100, .begin = Steady::now()})),
            "request-timeout");
  Ends stuck;
  put(stuck.other, with_length("body").substr(0, 7));
  EXPECT_EQ(code_of(stuck.channel.receive({.bytes = 100, .end = Steady::now()})),
            "request-timeout");
  Ends idle;
  put(idle.other, with_length("body").substr(0, 7));
  EXPECT_EQ(code_of(idle.channel.receive({.bytes = 100,
                                          .begin = Steady::now() + kLong,
                                          .end = Steady::now() + kLong,
                                          .idle = std::chrono::milliseconds(1)})),
            "request-timeout");
}

TEST(Frames, ShutDown_WakesWhoWaits) {
  Ends ends;
  std::jthread other([&] { ends.channel.shut_down(); });
  EXPECT_EQ(code_of(ends.channel.receive(limits(100))), "cancelled");
}

TEST(Frames, OwnerThatDoesNotRead_LosesItsConnection) {
  Ends ends;
  const std::string body(60'000, 'x');
  int sent = 0;
  while (ends.channel.send(as_bytes(body))) {
    ASSERT_LT(++sent, 1000);
  }
  EXPECT_GT(sent, 0);
  EXPECT_EQ(code_of(ends.channel.receive(limits(100))), "cancelled");
}

}  // namespace
}  // namespace assay::worker
