// SPDX-License-Identifier: Apache-2.0
// Heartbeats as a service sees them: signed, ever newer, and soon after a change.
#include "worker/heartbeat.h"

#include <condition_variable>
#include <mutex>
#include <new>

#include <gtest/gtest.h>

#include "attestation/dsse.h"
#include "tests/support/test_signer.h"

namespace assay::worker {
namespace {

const ArtifactId kArtifact(Digest::wrap(HashAlgorithm::kSha256, Bytes(32).data()));

// Counts heartbeats of its session in rising order.
class FakeService {
 public:
  Result<HeartbeatAnswer> take(ByteView bytes) {
    const std::scoped_lock lock(mutex_);
    changed_.notify_all();
    if (down_) {
      ++failures_;
      return fail(ErrorCode::kConnectionFailed, "down");
    }
    const auto envelope = attestation::parse_envelope(bytes).value();
    EXPECT_EQ(envelope.payload_type, kHeartbeatPayloadType);
    EXPECT_EQ(envelope.signatures.size(), 1U);
    const Heartbeat heartbeat = parse_heartbeat(envelope.payload).value();
    EXPECT_EQ(heartbeat.node, "gpu-1");
    const bool counts = heartbeat.session == session_ && heartbeat.sequence > newest_;
    if (counts) {
      newest_ = heartbeat.sequence;
      counted_.push_back(heartbeat);
    }
    return HeartbeatAnswer{counts, session_, newest_};
  }
  Heartbeat await(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return counted_.size() >= count; });
    return counted_[count - 1];
  }
  void await_session(std::uint8_t session) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return counted_.back().session[0] == session; });
  }
  void await_failure() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return failures_ > 0; });
  }
  void restart(std::uint8_t session) {
    const std::scoped_lock lock(mutex_);
    session_.fill(session);
    newest_ = 0;
  }
  void set_down(bool down) {
    const std::scoped_lock lock(mutex_);
    down_ = down;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  Nonce session_ = [] {
    Nonce nonce{};
    nonce.fill(7);
    return nonce;
  }();
  std::uint64_t newest_ = 0;
  bool down_ = false;
  int failures_ = 0;
  std::vector<Heartbeat> counted_;
};

class HeartbeatTest : public testing::Test {
 protected:
  void start(std::chrono::milliseconds period) {
    heartbeats_ = std::make_unique<Heartbeats>(
        "gpu-1", signer_, [this] { return beats(); },
        [this](ByteView envelope) { return service_.take(envelope); },
        [this](const Error* error) {
          const std::scoped_lock lock(mutex_);
          troubles_.push_back(error != nullptr);
        },
        period);
  }
  std::vector<InstanceBeat> beats() {
    const std::scoped_lock lock(mutex_);
    if (failing_) {
      throw std::bad_alloc();
    }
    return beats_;
  }
  void set(InstanceState state) {
    const std::scoped_lock lock(mutex_);
    beats_ = {{{"", "main"}, kArtifact, state, DocumentId(kArtifact.root())}};
  }

  TestSigner signer_{1};
  FakeService service_;
  std::mutex mutex_;
  std::vector<InstanceBeat> beats_;
  std::vector<bool> troubles_;
  bool failing_ = false;
  std::unique_ptr<Heartbeats> heartbeats_;
};

// The first one learns the session; then each is newer than the one before.
TEST_F(HeartbeatTest, BeatsCount_AndFollowARestartOfTheService) {
  set(InstanceState::kVerified);
  start(std::chrono::milliseconds(5));
  const Heartbeat first = service_.await(1);
  EXPECT_EQ(first.instances, beats());
  EXPECT_LT(first.sequence, service_.await(2).sequence);
  service_.restart(9);
  service_.await_session(9);
}

TEST_F(HeartbeatTest, AChange_IsSentAtOnce) {
  set(InstanceState::kVerified);
  start(std::chrono::hours(1));
  EXPECT_EQ(service_.await(1).instances[0].state, InstanceState::kVerified);
  set(InstanceState::kViolated);
  heartbeats_->hurry();
  EXPECT_EQ(service_.await(2).instances[0].state, InstanceState::kViolated);
}

TEST_F(HeartbeatTest, AnOutage_IsToldOnce_AndSurvived) {
  set(InstanceState::kVerified);
  service_.set_down(true);
  start(std::chrono::milliseconds(2));
  service_.await_failure();
  service_.set_down(false);
  (void)service_.await(3);
  heartbeats_.reset();
  EXPECT_EQ(troubles_, (std::vector<bool>{true, false}));
}

TEST_F(HeartbeatTest, WithoutMemory_NothingIsSent_AndTheAgentGoesOn) {
  set(InstanceState::kVerified);
  failing_ = true;
  start(std::chrono::milliseconds(1));
  while (true) {
    const std::scoped_lock lock(mutex_);
    if (!troubles_.empty()) {
      failing_ = false;
      break;
    }
  }
  EXPECT_EQ(service_.await(1).instances.size(), 1U);
  heartbeats_.reset();
  EXPECT_EQ(troubles_, (std::vector<bool>{true, false}));
}

TEST_F(HeartbeatTest, WithoutInstances_NothingIsSent) {
  start(std::chrono::milliseconds(1));
  set(InstanceState::kUnknown);
  EXPECT_EQ(service_.await(1).instances.size(), 1U);
}

}  // namespace
}  // namespace assay::worker
