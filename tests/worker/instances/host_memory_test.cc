// SPDX-License-Identifier: Apache-2.0
// What registrations cost the node agent at most, of host memory: the largest frames that it takes,
// of as many pods as may send them (docs/instances.md, "Host memory").
#include <fstream>
#include <iostream>
#include <map>
#include <poll.h>
#include <string>

#include "tests/support/vectors.h"
#include "tests/worker/instances/fake_proc.h"
#include "tests/worker/instances/owner_end.h"

namespace assay::worker {
namespace {

using test::Agent;
using test::FakeProc;
using test::OwnerEnd;

// The page promises 944 MiB for the node agent. It takes 84 without registrations and up to 465 for
// a job about files, at the same time.
constexpr std::uint64_t kMost = std::uint64_t{944 - 84 - 465} << 20;

// A line of /proc/self/status, in bytes.
std::uint64_t memory(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) {
      return std::stoull(line.substr(name.size() + 1)) * 1024;
    }
  }
  ADD_FAILURE() << name;
  return 0;
}

// The highest value of the resident set counts from here on.
void forget_the_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

constexpr std::size_t kFar = 1'000'000;  // an offset that takes seven digits

// One piece whose bytes stand in as many parts as one registration may have.
std::string of_parts() {
  Json frame = to_json(test::host_registration(1));
  std::string list = "[0,0," + std::to_string(kFar) + "]";
  for (std::size_t i = 1; i < kMaxInstanceParts; ++i) {
    list += ",[0," + std::to_string(kFar + i - 1) + ",1]";
  }
  frame["pieces"][0]["size"] = kFar + kMaxInstanceParts - 1;
  frame["tensors"][0]["shape"] = {kFar + kMaxInstanceParts - 1};
  frame["tensors"][0]["parts"] = Json::array();
  std::string text = frame.dump();
  const std::string here = "\"parts\":[";
  text.insert(text.find(here) + here.size(), list);
  return text;
}

// As many tensors as one registration may have, with names that fill the frame.
std::string of_tensors() {
  InstanceRegistration registration = test::host_registration(0);
  registration.pieces.push_back({kMaxInstanceTensors, PieceKind::kHost, ""});
  for (std::uint64_t i = 0; i < kMaxInstanceTensors; ++i) {
    std::string tensor = std::to_string(i);
    tensor.resize(120, 'x');
    registration.tensors.push_back({{tensor}, "U8", {1}, {{0, i, 1}}});
  }
  return to_json(registration).dump();
}

// A frame that says nothing, and takes as much memory as the parser allows.
std::string of_nothing() {
  std::string text = R"({"type":"register","tensors":[0)";
  while (text.size() + 4 < kMaxOwnerFrame) {
    text += ",{}";
  }
  return text + "]}";
}

// A frame that is longer than the buffer of the socket: waits for its reader, also at the end, so
// that a small frame fits behind it.
void send_whole(int socket, ByteView rest) {
  while (wait_for(socket, POLLOUT, Steady::now() + test::kPatience) && !rest.empty()) {
    const ssize_t sent = send_some(socket, rest, {});
    if (sent <= 0) {
      return;  // refused by its length
    }
    rest = rest.subspan(static_cast<std::size_t>(sent));
  }
}

struct Outcome {
  std::map<std::string, int> answers;
  std::uint64_t peak;  // bytes of memory that came on top
};

// Lets so many pods register with `frame`, and with a descriptor of `size` bytes for its piece. All
// of them stay until the end.
Outcome register_all(int pods, const std::string& body, std::size_t size) {
  EXPECT_LE(body.size(), kMaxOwnerFrame);
  const Bytes frame = frame_of(as_bytes(body));  // before memory counts: senders have their own
  const FakeProc proc("");
  Agent agent({}, {{}, proc.path()});
  const Descriptor file = test::memory_file(size);
  Outcome outcome{};
  forget_the_peak();
  const std::uint64_t before = memory("VmRSS");
  std::vector<std::unique_ptr<OwnerEnd>> owners;
  for (int pod = 0; pod < pods; ++pod) {
    proc.set_groups("0::/kubepods/poduid-" + std::to_string(pod) + "/" + std::string(64, 'c'));
    OwnerEnd& owner = *owners.emplace_back(std::make_unique<OwnerEnd>(agent));
    owner.send(OwnerHello{"test"});
    EXPECT_EQ(owner.next_type(), "welcome");
    send_whole(owner.channel().socket(), frame);
    owner.send(OwnerPieces{0, 0, 1}, {file.get()});
    ++outcome.answers[owner.next_type()];
  }
  outcome.peak = memory("VmHWM") - before;
  std::cout << body.size() << " bytes each: " << (outcome.peak >> 20) << " MiB\n";
  return outcome;
}

#ifdef __has_feature
constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#elif defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

class HostMemory : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) {
      GTEST_SKIP() << "a sanitizer keeps memory that was freed";
    }
  }
};

using Answers = std::map<std::string, int>;
const Answers kFourFit = {{"registered", 4}, {"refused overloaded", 1}};
const Answers kTwoFit = {{"registered", 2}, {"refused overloaded", 1}};

TEST_F(HostMemory, OfTheMostParts_StaysWithinItsBound) {
  const Outcome outcome = register_all(5, of_parts(), kFar + kMaxInstanceParts - 1);
  EXPECT_EQ(outcome.answers, kFourFit);
  EXPECT_LT(outcome.peak, kMost);
}

TEST_F(HostMemory, OfTheMostTensors_StaysWithinItsBound) {
  const Outcome outcome = register_all(3, of_tensors(), kMaxInstanceTensors);
  EXPECT_EQ(outcome.answers, kTwoFit);
  EXPECT_LT(outcome.peak, kMost);
}

TEST_F(HostMemory, OfFramesThatAreRefused_StaysWithinItsBound) {
  const Outcome outcome = register_all(2, of_nothing(), 1);
  EXPECT_EQ(outcome.answers, (Answers{{"refused limit-exceeded", 2}}));
  EXPECT_LT(outcome.peak, kMost);
}

}  // namespace
}  // namespace assay::worker
