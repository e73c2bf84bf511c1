// SPDX-License-Identifier: Apache-2.0
// An instance of several processes held against a manifest, and watched from then on.
#include "worker/instances/model.h"

#include <atomic>
#include <barrier>
#include <pthread.h>

#include "tests/worker/instances/engines.h"
#include "tests/worker/instances/fake_driver.h"
#include "tests/worker/instances/fake_owner.h"
#include "tests/worker/instances/several_devices.h"
#include "worker/instances/check.h"
#include "worker/instances/watch.h"

namespace assay::worker::test {
namespace {

using Kind = Finding::Kind;

class InstanceModelTest : public OnEngine {
 protected:
  void SetUp() override {
    OnEngine::SetUp();
    if (engine_ == nullptr) {
      return;
    }
    checks_ = std::make_unique<LocalChecks>(*engine_, random_);
    for (std::uint64_t i = 0; i < 4; ++i) {
      tensors_.push_back({"t" + std::to_string(i), some_bytes(30'000 + i, i)});
    }
    manifest_ = manifest_of(tensors_);
  }
  [[nodiscard]] ArtifactId id() const { return artifact_id(manifest_).value(); }

  // Two processes with two tensors each.
  void make_owners() {
    for (std::uint64_t rank = 0; rank < 2; ++rank) {
      auto owner = std::make_shared<FakeOwner>(id(), rank, 2);
      owner->edit_peer().container = rank == 0 ? "zz" : "aa";
      owner->edit().uncovered_bytes = 5;
      owner->edit().uncovered_count = 1 + rank;
      owner->add(tensors_[2 * rank].name, tensors_[2 * rank].bytes);
      owner->add(tensors_[2 * rank + 1].name, tensors_[2 * rank + 1].bytes);
      owners_.push_back(std::move(owner));
    }
  }
  std::shared_ptr<InstanceModel> model() {
    return std::make_shared<InstanceModel>(
        std::vector<std::shared_ptr<Owner>>(owners_.begin(), owners_.end()), id(), manifest_,
        *checks_, now(), &driver_);
  }

  // The steady clock, and what tests add to it.
  Now now() {
    return [this] { return Steady::now() + std::chrono::milliseconds(ahead_ms_); };
  }

  std::atomic<int> ahead_ms_ = 0;
  std::atomic<bool> held_ = false;
  std::atomic<bool> waited_for_ = false;
  SystemRandom random_;
  std::unique_ptr<LocalChecks> checks_;
  FakeDriver driver_{{}};
  std::vector<NamedBytes> tensors_;
  Manifest manifest_;
  std::vector<std::shared_ptr<FakeOwner>> owners_;
};

INSTANTIATE_TEST_SUITE_P(Engines, InstanceModelTest, testing::Values("cpu", "opencl"), engine_name);

TEST_P(InstanceModelTest, RanksTogether_AreWhatTheManifestSays) {
  make_owners();
  const auto instance = model();
  const auto hashed = instance->hash(1, {});
  ASSERT_TRUE(hashed) << hashed.error().detail;
  EXPECT_EQ(hashed->entries, manifest_.artifact.entries);
  EXPECT_TRUE(hashed->not_covered.empty());
  EXPECT_TRUE(instance->findings().empty());
  EXPECT_EQ(hashed->bytes, 120'006U);
  const MemoryFacts& memory = hashed->memory;
  EXPECT_EQ(memory.world, 2U);
  EXPECT_EQ(memory.containers, (std::vector<std::string>{"aa", "zz"}));
  EXPECT_EQ(memory.in_place, 120'006U);
  EXPECT_EQ(memory.registered, 120'006U);
  EXPECT_EQ(memory.uncovered, 10U);
  EXPECT_EQ(memory.uncovered_count, 3U);
  EXPECT_EQ(memory.on_devices, 0U);
  EXPECT_EQ(memory.device_bytes, std::nullopt);
  EXPECT_EQ(memory.redrawn, 4U);
  EXPECT_DOUBLE_EQ(memory.detection, 1);
  const gpu_hash::EngineInfo& info = engine_->info();
  const MemoryReader reader{{0, 1}, info.id, info.device, info.driver, {}, {}, info.kernel_digest};
  EXPECT_EQ(memory.read_by, std::vector{reader});
  EXPECT_EQ(reader.kernel_digest.has_value(), GetParam() != std::string_view("cpu"));
  const Json json = to_json(memory)["read_by"][0];
  EXPECT_TRUE(json["uuid"].is_null());
  EXPECT_TRUE(json["pci"].is_null());
}

// Each process may say up to 2^53 - 1; a report with the sum could not be written, and its job
// would end five leases later without a word of why.
TEST_P(InstanceModelTest, SumsThatNoReportCanState_AreTheLargestNumber) {
  make_owners();
  for (const auto& owner : owners_) {
    owner->edit().uncovered_bytes = kMaxSafeInteger;
    owner->edit().uncovered_count = kMaxSafeInteger;
    owner->edit().pieces.push_back({kMaxSafeInteger - 100'000, PieceKind::kStaged, "a test"});
  }
  const auto hashed = model()->hash(1, {});
  ASSERT_TRUE(hashed) << hashed.error().detail;
  EXPECT_EQ(hashed->memory.uncovered, std::uint64_t{kMaxSafeInteger});
  EXPECT_EQ(hashed->memory.uncovered_count, std::uint64_t{kMaxSafeInteger});
  EXPECT_EQ(hashed->memory.registered, std::uint64_t{kMaxSafeInteger});
  EXPECT_TRUE(canonical_json(to_json(hashed->memory)));
}

TEST_P(InstanceModelTest, AFlippedByte_IsReportedAsFound_AndLocated) {
  make_owners();
  owners_[1]->flip(0, 20'000);
  const auto instance = model();
  const auto hashed = instance->hash(1, {});
  ASSERT_TRUE(hashed);
  ASSERT_EQ(hashed->entries.size(), 4U);
  EXPECT_EQ(hashed->entries[1], manifest_.artifact.entries[1]);
  EXPECT_NE(root_of(hashed->entries[2]), root_of(manifest_.artifact.entries[2]));
  const auto items = instance->outline({2}, 16'384, {});
  ASSERT_TRUE(items) << items.error().detail;
  ASSERT_EQ(items->at(0).digests.size(), 2U);
  const gpu_hash::Region right = gpu_hash::host_region(tensors_[2].bytes);
  const auto expected = engine_->hash({&right, 1}, {{}, 16'384, {}, {}}).value().at(0).outline;
  EXPECT_EQ(items->at(0).digests[0], expected[0]);
  EXPECT_NE(items->at(0).digests[1], expected[1]);
  EXPECT_EQ(instance->outline({7}, 16'384, {}).error().code, ErrorCode::kNotFound);
}

TEST_P(InstanceModelTest, ARankThatIsNotThere_LeavesEverythingUncovered) {
  make_owners();
  owners_.pop_back();
  const auto hashed = model()->hash(1, {});
  ASSERT_TRUE(hashed);
  EXPECT_TRUE(hashed->entries.empty());
  ASSERT_EQ(hashed->not_covered.size(), 4U);
  EXPECT_EQ(hashed->not_covered[0].reason, "not-found");
  owners_.clear();
  const auto none = model()->hash(1, {});
  ASSERT_TRUE(none);
  EXPECT_EQ(none->not_covered.size(), 4U);
  EXPECT_EQ(none->memory.detection, 0);
}

TEST_P(InstanceModelTest, ARegistrationOfAnotherArtifact_IsNotRead) {
  make_owners();
  manifest_ = manifest_of({{"t0", Bytes(4)}});
  const auto hashed = model()->hash(1, {});
  ASSERT_TRUE(hashed);
  EXPECT_EQ(hashed->not_covered, (std::vector<NotCovered>{{0, "conflict"}}));
  EXPECT_EQ(owners_[0]->exported(), 0U);
}

TEST_P(InstanceModelTest, WhatOneProcessHandsOutWrongly_IsNotCovered_AndTheRestIs) {
  make_owners();
  owners_[0]->hand_out(1, [] { return Descriptor(); });
  const auto hashed = model()->hash(1, {});
  ASSERT_TRUE(hashed);
  EXPECT_EQ(hashed->entries.size(), 2U);
  EXPECT_EQ(hashed->not_covered,
            (std::vector<NotCovered>{{0, "invalid-parameter"}, {1, "invalid-parameter"}}));
}

// Its second export shows other memory: it was remapped while it was read.
TEST_P(InstanceModelTest, APieceReplacedMeanwhile_IsNotCovered) {
  make_owners();
  int exports = 0;
  owners_[0]->on_call([&] {
    if (++exports == 2) {
      owners_[0]->replace(0, some_bytes(30'000, 77));
    }
  });
  const auto hashed = model()->hash(1, {});
  ASSERT_TRUE(hashed);
  EXPECT_EQ(hashed->not_covered, (std::vector<NotCovered>{{0, "file-changed"}}));
  EXPECT_EQ(hashed->entries.size(), 3U);
  // A report in which these differ is refused.
  EXPECT_EQ(hashed->bytes, hashed->memory.in_place + hashed->memory.staged);
}

// Each process hands out its memory only when the other one is asked, too: for the full pass, and
// again when pieces are drawn anew.
TEST_P(InstanceModelTest, ProcessesOnDifferentDevices_AreReadAtOnce) {
  SeveralDevices devices(*engine_);
  checks_ = std::make_unique<LocalChecks>(devices, random_);
  make_owners();
  std::barrier together(2);
  for (const auto& owner : owners_) {
    owner->on_call([&together] { together.arrive_and_wait(); });
  }
  owners_[0]->edit().device = "GPU-a";
  owners_[1]->edit().device = "GPU-b";
  const auto instance = model();
  const auto hashed = instance->hash(1, {});
  ASSERT_TRUE(hashed) << hashed.error().detail;
  EXPECT_EQ(hashed->entries, manifest_.artifact.entries);
  EXPECT_EQ(hashed->memory.redrawn, 4U);
  ASSERT_TRUE(instance->redraw(16));
}

// Each device has its time for exports; processes on one device share theirs.
TEST_P(InstanceModelTest, TheTimeForExports_IsThatOfADevice) {
  SeveralDevices devices(*engine_);
  checks_ = std::make_unique<LocalChecks>(devices, random_);
  make_owners();
  std::mutex one_at_a_time;
  for (const auto& owner : owners_) {
    owner->edit().device = "GPU-a";
    owner->on_call([&] {
      const std::scoped_lock lock(one_at_a_time);
      ahead_ms_ += 1'500;
    });
  }
  const auto shared = model()->hash(1, {});  // four exports of 1.5 s
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->not_covered.size(), 2U);
  owners_[1]->edit().device = "GPU-c";  // which this engine has not
  const auto other = model()->hash(1, {});
  ASSERT_TRUE(other);
  EXPECT_EQ(other->not_covered,
            (std::vector<NotCovered>{{2, "device-not-found"}, {3, "device-not-found"}}));
}

// Its pieces are memory files that stand for allocations of a device.
TEST_P(InstanceModelTest, BytesOnDevices_AreComparedWithWhatTheDriverSays) {
  SeveralDevices devices(*engine_);
  checks_ = std::make_unique<LocalChecks>(devices, random_);
  make_owners();
  owners_[0]->edit().device = "GPU-a";
  owners_[0]->edit_peer().pid = 17;
  owners_[1]->edit_peer().pid = 18;
  for (InstancePiece& piece : owners_[0]->edit().pieces) {
    piece.kind = PieceKind::kDevice;
  }
  driver_.list = {{"GPU-a", 17, 100'000}, {"GPU-b", 17, 5}, {"GPU-b", 18, 7}, {"GPU-b", 19, 9}};
  const auto hashed = model()->hash(1, {});
  ASSERT_TRUE(hashed);
  EXPECT_EQ(hashed->entries, manifest_.artifact.entries);
  EXPECT_EQ(hashed->memory.on_devices, 60'001U);
  EXPECT_EQ(hashed->memory.in_place, 120'006U);
  EXPECT_EQ(hashed->memory.device_bytes, 100'012U);
  ASSERT_EQ(hashed->memory.read_by.size(), 2U) << "each process by the device that it registered";
  EXPECT_EQ(hashed->memory.read_by[0].uuid, "GPU-a");
  EXPECT_EQ(hashed->memory.read_by[0].pci, "0000:1a:00.0");
  EXPECT_EQ(hashed->memory.read_by[0].ranks, std::vector<std::uint64_t>{0});
  EXPECT_EQ(hashed->memory.read_by[1].uuid, "");
  EXPECT_EQ(hashed->memory.read_by[1].ranks, std::vector<std::uint64_t>{1});
  driver_.list->front().pid = 16;
  const auto unknown = model()->hash(1, {});
  ASSERT_TRUE(unknown);
  EXPECT_EQ(unknown->memory.device_bytes, std::nullopt);
}

// Nobody else is at work then: a thread of the model lets go.
TEST_P(InstanceModelTest, MemoryIsLetGo_WhenOneOwnerAsks) {
  make_owners();
  const auto instance = model();
  ASSERT_TRUE(instance->hash(1, {}));
  const std::weak_ptr<FakeOwner> watched = owners_[0];
  const std::weak_ptr<FakeOwner> other = owners_[1];
  EXPECT_GT(owners_[0].use_count(), 1);
  owners_[1]->end();
  owners_.clear();
  while (!watched.expired() || !other.expired()) {
    std::this_thread::yield();
  }
  EXPECT_EQ(instance->recheck(0).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(instance->redraw(16).error().code, ErrorCode::kCancelled);
}

TEST_P(InstanceModelTest, StoppedWork_IsCancelled) {
  make_owners();
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(model()->hash(1, stop.get_token()).error().code, ErrorCode::kCancelled);
}

// --- watching

class InstanceWatchTest : public InstanceModelTest {
 protected:
  void begin(std::uint64_t full_ms = 3'600'000, std::function<void()> on_call = [] {}) {
    WatchPlan plan;
    plan.period = std::chrono::milliseconds(100);
    plan.slices = 2;
    plan.full = std::chrono::milliseconds(full_ms);
    watch_ = std::make_unique<InstanceWatch>(
        plan,
        [this](const InstanceBeat& beat, std::span<const Finding>) {
          const std::scoped_lock lock(mutex_);
          states_.push_back(beat.state);
        },
        now());
    make_owners();
    owners_[0]->on_call(std::move(on_call));
    const auto instance = model();
    const auto hashed = instance->hash(plan.slices, {});
    ASSERT_TRUE(hashed);
    instance->tell(InstanceState::kVerified, {});
    before_watch_();
    watch_->watch({"", "main"}, id(), DocumentId(id().root()), hashed->entries, instance);
  }
  std::vector<InstanceState> states() {
    const std::scoped_lock lock(mutex_);
    return states_;
  }
  [[nodiscard]] InstanceState state() const { return watch_->beats().at(0).state; }

  std::function<void()> before_watch_ = [] {};
  std::mutex mutex_;
  std::vector<InstanceState> states_;
  std::unique_ptr<InstanceWatch> watch_;  // before what its threads use goes, it goes
};

INSTANTIATE_TEST_SUITE_P(Engines, InstanceWatchTest, testing::Values("cpu", "opencl"), engine_name);

TEST_P(InstanceWatchTest, AFlippedByte_IsFoundAndTold) {
  begin();
  EXPECT_EQ(state(), InstanceState::kVerified);
  EXPECT_TRUE(watch_->beats().at(0).report.has_value());
  owners_[1]->flip(1, 5);
  owners_[0]->await(InstanceState::kViolated);  // both are told
  owners_[1]->await(InstanceState::kViolated);
  ASSERT_EQ(owners_[1]->told().size(), 1U);
  EXPECT_EQ(owners_[1]->told()[0].kind, Kind::kChanged);
  EXPECT_EQ(owners_[1]->told()[0].tensor, "t3");
  while (states().size() < 2) {
    std::this_thread::yield();
  }
  EXPECT_EQ(states(),
            (std::vector<InstanceState>{InstanceState::kVerified, InstanceState::kViolated}));
  EXPECT_EQ(state(), InstanceState::kViolated);
}

TEST_P(InstanceWatchTest, AReplacedPiece_IsFoundAndTold) {
  begin();
  owners_[0]->replace(1, some_bytes(30'001, 55));
  owners_[0]->await(InstanceState::kViolated);
  EXPECT_EQ(owners_[0]->told().at(0).tensor, "t1");
}

TEST_P(InstanceWatchTest, FullPassesReadFreshExports) {
  begin(100);
  const std::uint64_t before = owners_[0]->exported();
  while (owners_[0]->exported() < before + 12) {
    std::this_thread::yield();
  }
  EXPECT_EQ(state(), InstanceState::kVerified);
  owners_[0]->flip(0, 0);
  owners_[0]->await(InstanceState::kViolated);
}

TEST_P(InstanceWatchTest, MemoryTakenBack_HasEnded) {
  begin();
  owners_[0]->end();
  while (state() != InstanceState::kEnded) {
    std::this_thread::yield();
  }
  while (states().size() < 2) {
    std::this_thread::yield();
  }
  EXPECT_EQ(states(), (std::vector{InstanceState::kVerified, InstanceState::kEnded}));
  const std::weak_ptr<FakeOwner> owner = owners_[0];
  owners_.clear();
  while (!owner.expired()) {
    std::this_thread::yield();
  }
}

// Nobody looks at the memory meanwhile, so nothing is known of it.
// It has ended when its last process is gone, and not while one is there, as before or anew.
TEST_P(InstanceWatchTest, WhoeverIsRegistered_HasNotEnded) {
  begin();
  for (const auto& owner : owners_) {
    watch_->came(*owner);
  }
  owners_[0]->end();
  watch_->gone(*owners_[0]);
  while (states().size() < 2) {  // the watch is over
    std::this_thread::yield();
  }
  EXPECT_EQ(state(), InstanceState::kUnknown);
  for (std::size_t rank = 1; rank < owners_.size(); ++rank) {
    watch_->gone(*owners_[rank]);
  }
  EXPECT_EQ(state(), InstanceState::kEnded);
  FakeOwner again(id());
  watch_->came(again);
  EXPECT_EQ(state(), InstanceState::kUnknown);
  watch_->gone(again);
  EXPECT_EQ(state(), InstanceState::kEnded);
}

// Nobody hides what was found by ending it.
TEST_P(InstanceWatchTest, ViolatedOnes_StaySoWhenTheyEnd) {
  begin();
  owners_[0]->flip(0, 0);
  owners_[0]->await(InstanceState::kViolated);
  for (const auto& owner : owners_) {
    owner->end();
    watch_->gone(*owner);
  }
  EXPECT_EQ(state(), InstanceState::kViolated);
}

TEST_P(InstanceWatchTest, WhatItsOwnerSawReplaced_StaysSoWhenItEnds) {
  begin();
  owners_[0]->end();
  while (state() != InstanceState::kEnded) {
    std::this_thread::yield();
  }
  FakeOwner again(id());
  watch_->came(again);
  watch_->violate(again, {});
  watch_->gone(again);
  EXPECT_EQ(state(), InstanceState::kViolated);
}

TEST_P(InstanceWatchTest, WhileAnOwnerIsWaitedFor_TheInstanceIsUnknown) {
  begin(100, [this] {
    while (held_) {
      waited_for_ = true;
      std::this_thread::yield();
    }
  });
  ahead_ms_ += 3'000;                            // more than two periods and 2 s
  while (state() != InstanceState::kVerified) {  // the next look
    std::this_thread::yield();
  }
  held_ = true;
  while (!waited_for_) {
    std::this_thread::yield();
  }
  EXPECT_EQ(state(), InstanceState::kVerified);
  ahead_ms_ += 2'201;
  EXPECT_EQ(state(), InstanceState::kUnknown);
  held_ = false;
  while (state() != InstanceState::kVerified) {
    std::this_thread::yield();
  }
}

// Each answer comes in time, and all of them together do not.
TEST_P(InstanceWatchTest, OwnersThatAnswerSlowlyTogether_AreNotReadInAPass) {
  make_owners();
  for (const auto& owner : owners_) {
    owner->on_call([&] { ahead_ms_ += 2'600; });
  }
  const auto hashed = model()->hash(1, {});
  ASSERT_TRUE(hashed);
  EXPECT_EQ(hashed->entries.size(),
            0U);  // drawing the first process's pieces anew is too late, too
  EXPECT_EQ(hashed->not_covered.at(3).reason, "file-unreadable");
}

TEST_P(InstanceWatchTest, AJobThatFindsItDifferent_EndsTheWatch) {
  begin();
  watch_->note({{"", "main"}, id(), InstanceState::kViolated, std::nullopt}, {});
  EXPECT_EQ(state(), InstanceState::kViolated);
  const std::weak_ptr<FakeOwner> owner = owners_[0];
  owners_.clear();
  EXPECT_TRUE(owner.expired());
}

TEST_P(InstanceWatchTest, TheEndOfTheWatch_LetsGoOfMemory) {
  begin();
  const std::weak_ptr<FakeOwner> owner = owners_[0];
  owners_.clear();
  watch_.reset();
  EXPECT_TRUE(owner.expired());
}

// A stack that is larger than any address space stands for a system that has no more threads.
TEST_P(InstanceWatchTest, WithoutAThreadToWatchWith_TheInstanceIsUnknown) {
  pthread_attr_t usual;
  ASSERT_EQ(::pthread_getattr_default_np(&usual), 0);
  before_watch_ = [] {
    pthread_attr_t greedy;
    ASSERT_EQ(::pthread_attr_init(&greedy), 0);
    ASSERT_EQ(::pthread_attr_setstacksize(&greedy, std::size_t{1} << 47), 0);
    ASSERT_EQ(::pthread_setattr_default_np(&greedy), 0);
    ::pthread_attr_destroy(&greedy);
  };
  begin();
  EXPECT_EQ(::pthread_setattr_default_np(&usual), 0);
  ::pthread_attr_destroy(&usual);
  EXPECT_EQ(state(), InstanceState::kUnknown);
  owners_[0]->await(InstanceState::kUnknown);
  EXPECT_EQ(states(),
            (std::vector<InstanceState>{InstanceState::kVerified, InstanceState::kUnknown}));
}

// What no job was about is named all the same: whoever asks about the pod hears of it.
TEST_P(InstanceWatchTest, WhatIsRegisteredAndNotWatched_IsUnknown) {
  begin();
  for (const auto& owner : owners_) {
    watch_->came(*owner);
  }
  EXPECT_EQ(state(), InstanceState::kVerified);
  FakeOwner other(id());
  other.edit().instance = "a";
  watch_->came(other);
  const std::vector<InstanceBeat> beats = watch_->beats();
  ASSERT_EQ(beats.size(), 2U);
  EXPECT_EQ(beats[0], (InstanceBeat{{"", "a"}, id(), InstanceState::kUnknown, std::nullopt}));
  EXPECT_EQ(beats[1].state, InstanceState::kVerified);
  watch_->gone(other);
  EXPECT_EQ(watch_->beats().size(), 1U);
  FakeOwner more(id(), 2, 3);  // a third process of the instance, which the report was not about
  watch_->came(more);
  EXPECT_EQ(state(), InstanceState::kUnknown);
  watch_->gone(more);
  EXPECT_EQ(state(), InstanceState::kVerified);
}

TEST_P(InstanceWatchTest, WhatIsRegisteredUnderAnotherArtifact_IsNamedWithIt) {
  begin();
  const ArtifactId another(Digest::wrap(HashAlgorithm::kSha256, Bytes(32).data()));
  FakeOwner other(another);
  watch_->came(other);
  ASSERT_EQ(watch_->beats().size(), 1U);
  EXPECT_EQ(watch_->beats()[0].artifact, another);
  EXPECT_EQ(state(), InstanceState::kUnknown);
}

TEST(InstanceWatch, NotesOfManyInstances_AreKeptWithinABound) {
  InstanceWatch watch({}, [](const InstanceBeat&, std::span<const Finding>) {});
  const ArtifactId artifact(Digest::wrap(HashAlgorithm::kSha256, Bytes(32).data()));
  for (int i = 0; i < 100; ++i) {
    watch.note({{"", "i" + std::to_string(i)}, artifact, InstanceState::kUnknown, std::nullopt},
               {});
  }
  EXPECT_EQ(watch.beats().size(), kMaxBeatInstances);
}

// The ends of instances of a pod that is there are said on, however many pods come and go.
TEST(InstanceWatch, NotesOfPodsThatAreGone_MakeRoomFirst) {
  InstanceWatch watch({}, [](const InstanceBeat&, std::span<const Finding>) {});
  const ArtifactId artifact(Digest::wrap(HashAlgorithm::kSha256, Bytes(32).data()));
  const auto note = [&](const std::string& pod, const std::string& name) {
    watch.note({{pod, name}, artifact, InstanceState::kEnded, DocumentId(artifact.root())}, {});
  };
  FakeOwner there(artifact);
  there.edit_peer().pod = "a";
  watch.came(there);
  note("a", "ended");
  for (int i = 0; i < 100; ++i) {
    note("b" + std::to_string(i), "main");
  }
  const auto names = [&](const std::string& pod) {
    return std::ranges::count_if(watch.beats(),
                                 [&](const InstanceBeat& one) { return one.instance.pod == pod; });
  };
  EXPECT_EQ(watch.beats().size(), kMaxBeatInstances);
  EXPECT_EQ(names("a"), 2);
  FakeOwner busy(artifact);
  busy.edit_peer().pod = "c";
  watch.came(busy);
  for (int i = 0; i < 100; ++i) {
    note("c", "i" + std::to_string(i));
  }
  EXPECT_EQ(names("a"), 2);
}

}  // namespace
}  // namespace assay::worker::test
