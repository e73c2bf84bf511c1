// SPDX-License-Identifier: Apache-2.0
// An owner of memory as tests play it: a real socket, with the node agent's connection in a thread
// at the other end.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "schemas/core/sha.h"
#include "schemas/instance_message.h"
#include "tests/support/manual_clock.h"
#include "tests/worker/instances/support.h"
#include "worker/instances/connection.h"

namespace assay::worker::test {

constexpr auto kPatience = std::chrono::seconds(60);  // of a test that would fail

// Notes what the registry tells.
class Recorder final : public InstanceWatcher {
 public:
  void came(const std::shared_ptr<Owner>& owner) override {
    note("came " + owner->registration().instance, owner);
  }
  void asked(const std::shared_ptr<Owner>& owner) override {
    note("asked " + owner->registration().instance, owner);
  }
  void changed(const std::shared_ptr<Owner>& owner, std::span<const std::string> tensors) override {
    std::string names;
    for (const std::string& tensor : tensors) {
      names += " " + tensor;
    }
    note("changed" + names, owner);
  }
  void yields(const std::shared_ptr<Owner>& owner, std::chrono::milliseconds max) override {
    note("yields " + owner->registration().instance + " " + std::to_string(max.count()), owner);
  }
  void gone(const Owner& owner) override { note("gone " + owner.registration().instance, nullptr); }

  void refused(const Refusal& refusal) override {
    const std::lock_guard lock(mutex_);
    refusals_.push_back(refusal);
  }
  [[nodiscard]] std::vector<Refusal> refusals() {
    const std::lock_guard lock(mutex_);
    return refusals_;
  }

  // Waits for the next call, and returns its words; the owner is held until the next call.
  std::string next() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, kPatience, [this] { return !calls_.empty(); })) {
      return "no call";
    }
    auto [words, owner] = std::move(calls_.front());
    calls_.pop_front();
    owner_ = std::move(owner);
    return words;
  }
  // Gives up the owner of the last call.
  std::shared_ptr<Owner> owner() {
    const std::lock_guard lock(mutex_);
    return std::exchange(owner_, nullptr);
  }

 private:
  void note(std::string words, std::shared_ptr<Owner> owner) {
    const std::lock_guard lock(mutex_);
    calls_.emplace_back(std::move(words), std::move(owner));
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<std::string, std::shared_ptr<Owner>>> calls_;
  std::shared_ptr<Owner> owner_;
  std::vector<Refusal> refusals_;
};

// The node agent's side.
struct Agent {
  explicit Agent(InstanceLimits limits = {}, PeerRules rules = {{::getuid()}})
      : shared(clock, random, registry, std::move(rules), limits) {
    registry.watch(recorder);
  }
  ManualClock clock;
  SystemRandom random;
  Recorder recorder;
  Registry registry;
  InstanceShared shared;
};

class OwnerEnd {
 public:
  explicit OwnerEnd(Agent& agent) : OwnerEnd(agent, socket_pair()) {}
  OwnerEnd(Agent& agent, std::pair<Descriptor, Descriptor> pair)
      : channel_(std::move(pair.first)),
        connection_(std::move(pair.second), agent.shared),
        thread_([this] { connection_.serve(); }) {}
  ~OwnerEnd() { hang_up(); }
  OwnerEnd(const OwnerEnd&) = delete;
  OwnerEnd& operator=(const OwnerEnd&) = delete;

  [[nodiscard]] FrameChannel& channel() { return channel_; }
  void send(const OwnerMessage& message, const std::vector<int>& files = {}) {
    (void)channel_.send(as_bytes(to_json(message).dump()), files);
  }
  // The next frame as JSON; {"type":"end"} at the end of the connection.
  [[nodiscard]] Json next() {
    const auto frame =
        channel_.receive({.bytes = kMaxAgentFrame, .end = Steady::now() + kPatience});
    if (!frame) {
      return {{"type", "end"}};
    }
    EXPECT_TRUE(parse_agent_message(frame->body)) << as_text(frame->body);
    return Json::parse(as_text(frame->body));
  }
  // "TYPE", or "refused CODE".
  [[nodiscard]] std::string next_type() {
    const Json frame = next();
    const std::string type = frame.value("type", "");
    return type == "refused" ? type + " " + frame.value("code", "") : type;
  }
  // Says hello and registers; the type of the last answer.
  std::string enter(const InstanceRegistration& registration, const std::vector<int>& files) {
    send(OwnerHello{"test"});
    if (const std::string answer = next_type(); answer != "welcome") {
      return answer;
    }
    return enrol(registration, files);
  }
  std::string enrol(const InstanceRegistration& registration, const std::vector<int>& files) {
    send(registration);
    if (!files.empty()) {
      send(OwnerPieces{0, 0, files.size()}, files);
    }
    return next_type();
  }
  // Ends the connection, and waits until the node agent has seen it.
  void hang_up() {
    channel_.shut_down();
    if (thread_.joinable()) {
      thread_.join();
    }
  }

 private:
  FrameChannel channel_;
  Connection connection_;
  std::jthread thread_;
};

// A process with this many host pieces of 64 bytes, one tensor each.
inline InstanceRegistration host_registration(std::size_t pieces, const std::string& instance = "a",
                                              std::uint64_t rank = 0, std::uint64_t world = 1) {
  InstanceRegistration registration{.artifact = ArtifactId(sha256(as_bytes("artifact"))),
                                    .instance = instance,
                                    .rank = rank,
                                    .world = world,
                                    .device = {},
                                    .pieces = {},
                                    .tensors = {}};
  for (std::size_t i = 0; i < pieces; ++i) {
    registration.pieces.push_back({64, PieceKind::kHost, ""});
    registration.tensors.push_back({{"t" + std::to_string(i)}, "U8", {64}, {{i, 0, 64}}});
  }
  return registration;
}

}  // namespace assay::worker::test
