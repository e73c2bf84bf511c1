// SPDX-License-Identifier: Apache-2.0
// A watched instance whose processes give hints and yield, other checks than tags, and where in a
// tensor bytes changed.
#include "worker/instances/watch.h"

#include <atomic>
#include <future>
#include <thread>

#include "tests/worker/instances/engines.h"
#include "tests/worker/instances/fake_owner.h"
#include "worker/instances/check.h"

namespace assay::worker::test {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kSize = 3'500'000;  // four spans of the locator

// Keeps the most slices that were looked at in one call.
class CountedCheck final : public MemoryCheck {
 public:
  CountedCheck(std::unique_ptr<MemoryCheck> check, std::atomic<std::size_t>& most)
      : check_(std::move(check)), most_(most) {}
  [[nodiscard]] const std::vector<Digest>& roots() const override { return check_->roots(); }
  [[nodiscard]] const Reached& reached() const override { return check_->reached(); }
  [[nodiscard]] const PassTimes& times() const override { return check_->times(); }
  [[nodiscard]] const gpu_hash::EngineInfo& engine() const override { return check_->engine(); }
  [[nodiscard]] unsigned slices() const override { return check_->slices(); }
  [[nodiscard]] std::uint64_t bytes_of(unsigned slice) const override {
    return check_->bytes_of(slice);
  }
  [[nodiscard]] Result<Looked> look(std::span<const unsigned> slices, std::uint64_t count,
                                    ExportTime* exports) override {
    most_ = std::max(most_.load(), slices.size());
    return check_->look(slices, count, exports);
  }
  [[nodiscard]] Status draw(std::uint64_t count, ExportTime* exports) override {
    return check_->draw(count, exports);
  }
  [[nodiscard]] Result<Redraw> redraw(std::uint64_t count, ExportTime* exports) override {
    return check_->redraw(count, exports);
  }
  [[nodiscard]] Result<std::vector<gpu_hash::ObjectDigests>> outline(
      std::span<const std::size_t> tensors, std::uint64_t span) override {
    return check_->outline(tensors, span);
  }
  [[nodiscard]] bool is_over() const override { return check_->is_over(); }

 private:
  std::unique_ptr<MemoryCheck> check_;
  std::atomic<std::size_t>& most_;
};

class CountedChecks final : public Checks {
 public:
  explicit CountedChecks(Checks& checks) : checks_(checks) {}
  [[nodiscard]] Result<std::unique_ptr<MemoryCheck>> start(std::shared_ptr<Owner> owner,
                                                           std::vector<std::size_t> tensors,
                                                           const CheckOptions& options) override {
    ASSAY_ASSIGN(std::unique_ptr<MemoryCheck> check,
                 checks_.start(std::move(owner), std::move(tensors), options));
    return std::make_unique<CountedCheck>(std::move(check), most_);
  }
  [[nodiscard]] std::size_t most() const { return most_; }

 private:
  Checks& checks_;
  std::atomic<std::size_t> most_ = 0;
};

// Two processes with a tensor each, in two slices.
class WatchTest : public OnEngine {
 protected:
  void SetUp() override {
    OnEngine::SetUp();
    checks_ = std::make_unique<LocalChecks>(*engine_, random_);
    tensors_ = {{"t0", some_bytes(kSize, 1)}, {"t1", some_bytes(kSize, 2)}};
    manifest_ = manifest_of(tensors_);
    SetUpOwners();
  }
  void SetUpOwners() {
    owners_.clear();
    for (std::uint64_t rank = 0; rank < 2; ++rank) {
      owners_.push_back(std::make_shared<FakeOwner>(artifact_id(manifest_).value(), rank, 2));
      owners_[rank]->add(tensors_[rank].name, tensors_[rank].bytes);
    }
  }
  void begin(WatchPlan plan) {
    plan.slices = 1;  // of each process
    watch_ = std::make_unique<InstanceWatch>(
        plan, [](const InstanceBeat&, std::span<const Finding>) {}, &Steady::now,
        [this](const InstanceBeat& beat, std::span<const Finding> findings) {
          const std::scoped_lock lock(mutex_);
          located_.assign(findings.begin(), findings.end());
          located_state_ = beat.state;
        });
    const auto model = std::make_shared<InstanceModel>(
        std::vector<std::shared_ptr<Owner>>(owners_.begin(), owners_.end()),
        artifact_id(manifest_).value(), manifest_, *checks_);
    const auto hashed = model->hash(plan.slices, {}, plan.check != WatchCheck::kSha256);
    ASSERT_TRUE(hashed);
    for (const auto& owner : owners_) {
      watch_->came(*owner);
    }
    watch_->watch({"", "main"}, artifact_id(manifest_).value(),
                  DocumentId(artifact_id(manifest_)->root()), hashed->entries, model);
  }
  // Two periods are over, so that all that can be learned was learned.
  void await_two_periods() {
    const std::uint64_t before = owners_[0]->exported();
    while (owners_[0]->exported() < before + 2) {
      std::this_thread::yield();
    }
  }
  std::string await_located() {
    while (true) {
      const std::scoped_lock lock(mutex_);
      if (!located_.empty()) {
        EXPECT_EQ(located_state_, InstanceState::kViolated);
        return located_[0].tensor + ": " + located_[0].detail;
      }
    }
  }

  SystemRandom random_;
  std::unique_ptr<LocalChecks> checks_;
  std::vector<NamedBytes> tensors_;
  Manifest manifest_;
  std::vector<std::shared_ptr<FakeOwner>> owners_;
  std::mutex mutex_;
  std::vector<Finding> located_;
  InstanceState located_state_ = InstanceState::kPending;
  std::unique_ptr<InstanceWatch> watch_;
};

INSTANTIATE_TEST_SUITE_P(Engines, WatchTest, testing::Values("cpu", "opencl"), engine_name);

// --- where bytes changed

TEST_P(WatchTest, AFlippedByte_IsLocatedAfterItWasTold) {
  begin({.period = milliseconds(100)});
  await_two_periods();
  EXPECT_EQ(watch_->beats().at(0).watch, (WatchedBy{WatchCheck::kTags, 100, 100}));
  owners_[1]->flip(0, 2'200'000);
  EXPECT_EQ(await_located(),
            "t1: rank 1: its bytes are not what they were: bytes 2097152 to 3145728");
  EXPECT_EQ(owners_[0]->told().at(0).detail,
            "rank 1: its bytes are not what they were: bytes 2097152 to 3145728");
  const InstanceBeat beat = watch_->beats().at(0);
  EXPECT_EQ(beat.state, InstanceState::kViolated);
  EXPECT_FALSE(beat.watch);
  EXPECT_EQ(beat.findings,
            (std::vector<BeatFinding>{
                {"t1", "rank 1: its bytes are not what they were: bytes 2097152 to 3145728"}}));
}

TEST_P(WatchTest, BytesOfAReplacedPiece_AreLocatedToo) {
  begin({.period = milliseconds(100)});
  await_two_periods();
  Bytes other = tensors_[0].bytes;
  other[5] ^= 1;
  other[kSize - 1] ^= 1;
  owners_[0]->replace(0, other);
  EXPECT_EQ(await_located(),
            "t0: rank 0: its bytes are not what they were: bytes 0 to 1048576, "
            "3145728 to 3500000");
}

TEST_P(WatchTest, AnOwnerThatIsToldItIsVerified_MayAskAtOnce) {
  std::promise<InstanceState> answer;
  unsigned told = 0;
  owners_[0]->on_told([&](InstanceState state) {
    if (++told == 1) {
      EXPECT_EQ(state, InstanceState::kVerified);
      watch_->ask(*owners_[0]);
    } else if (told == 2) {
      answer.set_value(state);
    }
  });
  begin({});
  EXPECT_EQ(answer.get_future().get(), InstanceState::kVerified);
}

// Names are the owner's: a heartbeat has few and short ones, and stays text.
TEST(WatchBeats, FindingsAreBounded) {
  InstanceWatch watch({}, [](const InstanceBeat&, std::span<const Finding>) {});
  const ArtifactId artifact(Digest::wrap(HashAlgorithm::kSha256, Bytes(32).data()));
  std::string name = "a";
  for (int i = 0; i < 200; ++i) {
    name += "\u00e9";  // two bytes
  }
  const std::vector<Finding> findings(9, {Finding::Kind::kChanged, name, "its bytes changed"});
  watch.note({{"", "violated"}, artifact, InstanceState::kViolated, std::nullopt}, findings);
  watch.note({{"", "unknown"}, artifact, InstanceState::kUnknown, std::nullopt}, findings);
  const Heartbeat heartbeat{"gpu-1", {}, 1, watch.beats()};
  EXPECT_TRUE(heartbeat.instances[0].findings.empty());
  const std::vector<BeatFinding>& said = heartbeat.instances[1].findings;
  ASSERT_EQ(said.size(), kMaxBeatFindings);
  EXPECT_EQ(said[0].tensor, name.substr(0, 255));
  EXPECT_EQ(said[0].detail, "its bytes changed");
  const auto text = canonical_json(to_json(heartbeat));
  ASSERT_TRUE(text);
  EXPECT_TRUE(parse_heartbeat(as_bytes(*text)));
}

// Pods do not share names: of one instance name in two pods, each has a state of its own.
TEST_P(WatchTest, OfTwoPods_EachHasItsOwnState) {
  begin({.period = milliseconds(100)});
  FakeOwner other(artifact_id(manifest_).value(), 0, 2);
  other.edit_peer().pod = "uid-2";
  watch_->came(other);
  const auto states = [this] {
    std::string text;
    for (const InstanceBeat& beat : watch_->beats()) {
      text += beat.instance.pod + "/" + beat.instance.instance + ":" +
              std::string(name(beat.state)) + " ";
    }
    return text;
  };
  EXPECT_EQ(states(), "/main:verified uid-2/main:unknown ");
  watch_->violate(other, {});
  EXPECT_EQ(states(), "/main:verified uid-2/main:violated ");
  watch_->gone(other);
  EXPECT_EQ(states(), "/main:verified ");
}

// --- what ends a verification

TEST_P(WatchTest, StorageThatItsOwnerSawReplaced_IsViolatedUntilItIsRegisteredAnew) {
  owners_[1]->edit_storage_changed();
  const auto model = std::make_shared<InstanceModel>(
      std::vector<std::shared_ptr<Owner>>(owners_.begin(), owners_.end()),
      artifact_id(manifest_).value(), manifest_, *checks_);
  const auto hashed = model->hash(1, {}, true);
  ASSERT_TRUE(hashed);
  ASSERT_EQ(hashed->not_covered.size(), 1U);
  EXPECT_EQ(hashed->not_covered[0].reason, "file-changed");
  InstanceWatch watch({}, [](const InstanceBeat&, std::span<const Finding>) {});
  watch.came(*owners_[0]);
  watch.came(*owners_[1]);
  watch.violate(*owners_[1], {});
  EXPECT_EQ(watch.beats().at(0).state, InstanceState::kViolated) << "before any job";
  watch.watch({"", "main"}, artifact_id(manifest_).value(),
              DocumentId(artifact_id(manifest_)->root()), hashed->entries, model);
  EXPECT_EQ(watch.beats().at(0).state, InstanceState::kViolated) << "after a job";
  EXPECT_EQ(owners_[0]->told().at(0).detail, "its owner saw storage replaced");
}

TEST_P(WatchTest, MemoryThatWasLetGo_IsNeverCalledVerified) {
  for (const bool before : {true, false}) {
    const auto model = std::make_shared<InstanceModel>(
        std::vector<std::shared_ptr<Owner>>(owners_.begin(), owners_.end()),
        artifact_id(manifest_).value(), manifest_, *checks_);
    const auto hashed = model->hash(1, {}, true);
    ASSERT_TRUE(hashed);
    std::vector<InstanceState> states;
    InstanceWatch watch({}, [&](const InstanceBeat& beat, std::span<const Finding>) {
      states.push_back(beat.state);
    });
    if (before) {
      owners_[0]->end();
    }
    watch.watch({"", "main"}, artifact_id(manifest_).value(),
                DocumentId(artifact_id(manifest_)->root()), hashed->entries, model);
    if (before) {
      EXPECT_EQ(states, std::vector{InstanceState::kEnded});
    }
    owners_[0]->end();
    EXPECT_NE(watch.beats().at(0).state, InstanceState::kVerified);
    SetUpOwners();
  }
}

TEST(Locator, RangesInWords) {
  EXPECT_EQ(text_of({}), "");
  EXPECT_EQ(text_of({{0, 5}}), "bytes 0 to 5");
  EXPECT_EQ(text_of({{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}}),
            "bytes 0 to 1, 2 to 3, 4 to 5, 6 to 7 and 2 more ranges");
}

TEST(Locator, TakesABoundedNumberOfDigests) {
  Artifact artifact = manifest_of({{"t", Bytes(4)}}).artifact;
  std::get<TensorEntry>(artifact.entries[0]).size = std::uint64_t{1} << 40;
  const Locator locator(artifact);
  EXPECT_EQ(locator.bytes(), std::uint64_t{1} << 40);
  EXPECT_EQ(locator.span(), std::uint64_t{4} << 20);
}

// --- other checks

TEST_P(WatchTest, Sha256_IsAnotherLookThanTags) {
  const auto model = std::make_shared<InstanceModel>(
      std::vector<std::shared_ptr<Owner>>(owners_.begin(), owners_.end()),
      artifact_id(manifest_).value(), manifest_, *checks_);
  ASSERT_TRUE(model->hash(1, {}, false));
  owners_[0]->flip(0, 1);
  for (int i = 0; i < 2; ++i) {  // tags could not be looked at again
    const auto found = model->recheck(0);
    ASSERT_TRUE(found) << found.error().detail;
    ASSERT_EQ(found->size(), 1U);
    EXPECT_EQ(found->at(0).tensor, "t0");
  }
}

TEST_P(WatchTest, EachCheck_FindsAFlippedByte) {
  for (const WatchCheck check : {WatchCheck::kSha256, WatchCheck::kRandom}) {
    WatchPlan plan{.period = milliseconds(100), .check = check};
    plan.share = check == WatchCheck::kRandom ? 50 : 100;
    begin(plan);
    owners_[1]->flip(0, 7);
    owners_[1]->await(InstanceState::kViolated);
    EXPECT_EQ(owners_[1]->told().at(0).tensor, "t1");
    owners_[1]->flip(0, 7);
    owners_[1]->tell(InstanceState::kPending, {});
  }
}

// --- hints and yields; a period is a minute, so that nothing runs by itself

TEST_P(WatchTest, AStep_HoldsASliceUp_AndItsEndLetsItRun) {
  std::uint64_t* const page = owners_[0]->share_hints();
  __atomic_store_n(page + 2, 1, __ATOMIC_RELEASE);
  begin({.period = milliseconds(60'000)});
  owners_[0]->flip(0, 5);
  // There is no event of a slice that does not run. How often the page is looked at meanwhile, and
  // what that costs: pace_of(), in hints_test.cc.
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_TRUE(owners_[0]->told().empty());
  __atomic_store_n(page + 3, 1, __ATOMIC_RELEASE);
  owners_[0]->await(InstanceState::kViolated);
}

// Exports and imports need no idle time of the process: only the look at the pieces waits.
TEST_P(WatchTest, PiecesAreDrawn_AheadOfTheSliceThatAStepHoldsUp) {
  std::uint64_t* const page = owners_[0]->share_hints();
  __atomic_store_n(page + 2, 1, __ATOMIC_RELEASE);
  const Steady::time_point begun = Steady::now();
  begin({.period = milliseconds(8'000)});
  const std::uint64_t before = owners_[1]->exported();
  while (owners_[1]->exported() == before && Steady::now() < begun + milliseconds(7'000)) {
    std::this_thread::yield();
  }
  EXPECT_EQ(owners_[1]->exported(), before + 1);
  EXPECT_LT(Steady::now(), begun + milliseconds(6'000));  // when the slice must run
}

TEST_P(WatchTest, WhenAllProcessesYield_WhatIsDueRunsAtOnce_AndOnce) {
  begin({.period = milliseconds(60'000)});
  watch_->yield(owners_[0], milliseconds(10));  // alone
  EXPECT_EQ(owners_[0]->await_yielded().first, 0U);
  owners_[1]->flip(0, 9);
  watch_->yield(owners_[0], milliseconds(10'000));
  watch_->yield(owners_[1], milliseconds(10'000));
  owners_[1]->await(InstanceState::kViolated);  // half a minute before its time
  EXPECT_EQ(owners_[0]->await_yielded().second, InstanceWatch::kNoYield);
  (void)owners_[1]->await_yielded();
  watch_->yield(owners_[0], milliseconds(10'000));  // nobody watches any more
  EXPECT_EQ(owners_[0]->await_yielded(), (std::pair{std::uint64_t{0}, InstanceWatch::kNoYield}));
}

TEST_P(WatchTest, WhatRanInThisPeriod_DoesNotRunAgain) {
  begin({.period = milliseconds(60'000)});
  std::uint64_t ran = 0;
  for (int i = 0; i < 5; ++i) {
    watch_->yield(owners_[0], milliseconds(10'000));
    watch_->yield(owners_[1], milliseconds(10'000));
    const auto [slices, next] = owners_[0]->await_yielded();
    EXPECT_EQ(owners_[1]->await_yielded().first, slices);
    EXPECT_GT(next, milliseconds(1'000));
    ran += slices;
  }
  EXPECT_GE(ran, 1U);  // the first slice runs by itself at the begin
  EXPECT_LE(ran, 2U);
}

// A process of four slices waits: the device turns to the check once.
TEST_P(WatchTest, SlicesThatFitIntoAYield_AreLookedAtInOneCall) {
  std::vector<NamedBytes> tensors;
  for (std::uint64_t i = 0; i < 4; ++i) {
    tensors.push_back({"u" + std::to_string(i), some_bytes(20'000, i)});
  }
  const Manifest manifest = manifest_of(tensors);
  const auto owner = std::make_shared<FakeOwner>(artifact_id(manifest).value());
  for (const NamedBytes& tensor : tensors) {
    owner->add(tensor.name, tensor.bytes);
  }
  CountedChecks checks(*checks_);
  const WatchPlan plan{.period = milliseconds(400), .slices = 4};
  watch_ =
      std::make_unique<InstanceWatch>(plan, [](const InstanceBeat&, std::span<const Finding>) {});
  const auto model = std::make_shared<InstanceModel>(
      std::vector<std::shared_ptr<Owner>>{owner}, artifact_id(manifest).value(), manifest, checks);
  const auto hashed = model->hash(plan.slices, {});
  ASSERT_TRUE(hashed);
  watch_->came(*owner);
  watch_->watch({"", "main"}, artifact_id(manifest).value(),
                DocumentId(artifact_id(manifest)->root()), hashed->entries, model);
  std::uint64_t most = 0;
  while (checks.most() <
         4) {  // the slices were looked at one by one before, to know how long it takes
    watch_->yield(owner, milliseconds(5'000));
    most = std::max(most, owner->await_yielded().first);
  }
  EXPECT_EQ(most, 4U);
  owner->flip(3, 9);
  watch_->yield(owner, milliseconds(5'000));
  owner->await(InstanceState::kViolated);
  EXPECT_EQ(owner->told().at(0).tensor, "u3");
  (void)owner->await_yielded();
  watch_.reset();  // before what it uses
}

TEST_P(WatchTest, TheEndOfTheWatch_AnswersYields) {
  begin({.period = milliseconds(60'000)});
  watch_->yield(owners_[0], milliseconds(10'000));
  owners_[1]->end();
  EXPECT_EQ(owners_[0]->await_yielded().first, 0U);
}

}  // namespace
}  // namespace assay::worker::test
