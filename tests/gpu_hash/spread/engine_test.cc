// SPDX-License-Identifier: Apache-2.0
// Several engines as one, against one engine: objects of host memory and files, members that fail,
// wait or lie, stopping and progress.
#include "gpu_hash/spread/engine.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "gpu_hash/cpu/engine.h"
#include "gpu_hash/source_file.h"
#include "tests/gpu_hash/fake_engine.h"

namespace assay::gpu_hash::test {
namespace {

TEST(SpreadEngine, Info_NamesAllMembers) {
  std::vector<std::unique_ptr<FakeEngine>> fakes;
  for (const char* number : {"0", "2", "3"}) {
    fakes.push_back(
        std::make_unique<FakeEngine>(number, FakeEngine::OnCall{}, *number == '3' ? "2" : "1"));
  }
  const Spread spread = spread_over(std::move(fakes), 4096);
  const EngineInfo& info = spread.engine->info();
  EXPECT_EQ(info.id, "opencl:0,2,3");
  EXPECT_EQ(info.device, "3 x Fake GPU");
  EXPECT_EQ(info.driver, "1, 2");
  EXPECT_EQ(info.kernel_digest, sha256(as_bytes("kernel")));

  std::vector<std::unique_ptr<Engine>> mixed;
  mixed.push_back(std::make_unique<FakeEngine>("0"));
  mixed.push_back(make_cpu_engine(1));
  const auto both = SpreadEngine::create(std::move(mixed));
  EXPECT_EQ((*both)->info().device, "Fake GPU, " + cpu_name());
  EXPECT_EQ((*both)->info().kernel_digest, std::nullopt);
}

TEST(SpreadEngine, NoMembers_IsInvalidParameter) {
  const auto engine = SpreadEngine::create({});
  ASSERT_FALSE(engine.has_value());
  EXPECT_EQ(engine.error().code, ErrorCode::kInvalidParameter);
}

TEST(SpreadEngine, SizesAroundBorders_EqualReferenceAtEverySpan) {
  const std::uint64_t unit = 16384;
  for (const std::size_t count : {1U, 2U, 3U, 5U}) {
    const Spread spread = spread_over(count, unit);
    for (const HashAlgorithm algorithm : kAlgorithms) {
      const TreeParameters parameters{algorithm, 4096};
      std::vector<Bytes> objects;
      for (const std::size_t border :
           {0U, 4096U, 8192U, 16384U, 20480U, 32768U, 49152U, 65536U, 81920U, 131072U, 147456U}) {
        for (const std::size_t size : {border - 1, border + 0, border + 1}) {
          objects.push_back(pattern(size < 200'000 ? size : 7));
        }
      }
      std::vector<Region> regions;
      for (const Bytes& object : objects) {
        regions.push_back(host_region(object));
      }
      // Below, at and above the size of parts.
      for (const std::uint64_t span : {0U, 4096U, 8192U, 16384U, 32768U, 1U << 20}) {
        const auto results = spread.engine->hash(regions, {parameters, span, {}, {}});
        ASSERT_TRUE(results.has_value()) << to_string(results.error());
        for (std::size_t i = 0; i < objects.size(); ++i) {
          ASSERT_EQ((*results)[i].root, reference_root(parameters, objects[i]))
              << objects[i].size() << " bytes, " << count << " members";
          ASSERT_EQ((*results)[i].outline, span == 0
                                               ? std::vector<Digest>{}
                                               : reference_outline(parameters, objects[i], span))
              << objects[i].size() << " bytes, span " << span;
        }
      }
    }
  }
}

TEST(SpreadEngine, RandomLayouts_EqualTheCpuEngine) {
  Random random;
  SCOPED_TRACE(random.text());
  const Bytes bytes = pattern(400'000);
  const auto cpu = make_cpu_engine(1);
  for (std::size_t members = 1; members <= 4; ++members) {
    for (int round = 0; round < 700; ++round) {
      const Spread spread = spread_over(members, 1U << (10 + random.below(8)));
      const TreeParameters parameters{kAlgorithms[random.below(2)], 4096U << random.below(3)};
      const std::uint64_t span =
          random.below(2) == 0 ? 0 : std::uint64_t{parameters.chunk_size} << random.below(6);
      std::vector<Region> regions(random.below(6));
      for (Region& region : regions) {
        for (std::size_t pieces = random.below(4); pieces > 0; --pieces) {
          const std::size_t size = random.below(random.below(8) == 0 ? 200'000 : 20'000);
          region.pieces.emplace_back(HostPiece{ByteView(bytes).subspan(random.below(1000), size)});
        }
      }
      const HashRequest request{parameters, span, {}, {}};
      const auto got = spread.engine->hash(regions, request);
      const auto expected = cpu->hash(regions, request);
      ASSERT_TRUE(got.has_value()) << to_string(got.error());
      ASSERT_TRUE(expected.has_value());
      ASSERT_NO_FATAL_FAILURE(expect_same(*got, *expected, "round " + std::to_string(round)));
    }
  }
}

// No member can end its first call before all have begun one: all of them share the one object.
TEST(SpreadEngine, OneHugeObject_IsSharedByAllMembers) {
  std::latch all(3);
  std::vector<std::unique_ptr<FakeEngine>> fakes;
  for (const char* number : {"0", "1", "2"}) {
    auto first = std::make_shared<std::atomic<bool>>(true);
    fakes.push_back(std::make_unique<FakeEngine>(
        number, [&all, first](std::span<const Region>, const HashRequest&) -> Status {
          if (first->exchange(false)) {
            all.arrive_and_wait();
          }
          return {};
        }));
  }
  const Spread spread = spread_over(std::move(fakes), 64 << 10);
  const Bytes object = pattern((24U << 20) + 12345);
  const ObjectDigests got =
      hash_one(*spread.engine, TreeParameters{}, host_region(object), 1U << 20);
  EXPECT_EQ(got.root, reference_root({}, object));
  EXPECT_EQ(got.outline, reference_outline({}, object, 1U << 20));
  std::uint64_t total = 0;
  for (const FakeEngine* fake : spread.fakes) {
    EXPECT_GE(fake->bytes(), object.size() / 16);
    // Shares begin large: a call for each part would have been 385 of them.
    EXPECT_LE(fake->calls(), 40);
    total += fake->bytes();
  }
  EXPECT_EQ(total, object.size());
}

// A member that does not come back leaves its rest to the others: work is not dealt out beforehand.
TEST(SpreadEngine, SlowMember_IsLeftWithItsFirstShare) {
  std::latch others(1);
  std::vector<std::unique_ptr<FakeEngine>> fakes;
  fakes.push_back(
      std::make_unique<FakeEngine>("0", [&](std::span<const Region>, const HashRequest&) -> Status {
        others.wait();
        return {};
      }));
  std::uint64_t seen = 0;
  bool released = false;
  const std::uint64_t object_size = 16U << 20;
  fakes.push_back(std::make_unique<FakeEngine>(
      "1", [&](std::span<const Region> regions, const HashRequest&) -> Status {
        for (const Region& region : regions) {
          seen += region_size(region).value();
        }
        // The first share of one of two members is a quarter.
        if (!released && seen >= object_size / 4 * 3) {
          released = true;
          others.count_down();
        }
        return {};
      }));
  const Spread spread = spread_over(std::move(fakes), 64 << 10);
  const Bytes object = pattern(object_size);
  EXPECT_EQ(hash_one(*spread.engine, {}, host_region(object)).root, reference_root({}, object));
  EXPECT_LE(spread.fakes[0]->bytes(), object_size / 4);
}

TEST(SpreadEngine, ManySmallObjects_AreSharedAndInOrder) {
  const Spread spread = spread_over(4, 64 << 10);
  const Bytes bytes = pattern(4000);
  std::vector<Region> regions;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    regions.push_back(host_region(ByteView(bytes).first(size)));
  }
  const auto results = spread.engine->hash(regions, HashRequest{});
  ASSERT_TRUE(results.has_value()) << to_string(results.error());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_EQ((*results)[size].root, reference_root({}, ByteView(bytes).first(size)));
  }
}

TEST(SpreadEngine, FilesAndHostMemoryInOneObject_EqualReference) {
  const TempDir dir;
  const Bytes object = pattern(1'000'000);
  const auto file = SourceFile::find(dir.write("data", object));
  ASSERT_TRUE(file.has_value());
  const Spread spread = spread_over(3, 16384);
  Region region;
  region.pieces.emplace_back(HostPiece{ByteView(object).first(4097)});
  region.pieces.emplace_back(FilePiece{*file, 4097, 900'000});
  region.pieces.emplace_back(HostPiece{ByteView(object).subspan(904'097)});
  EXPECT_EQ(hash_one(*spread.engine, {}, region).root, reference_root({}, object));
}

// One member fails in the middle of the object; the other hashes on until it is told to stop, and
// only then does the call return.
TEST(SpreadEngine, MemberThatFails_StopsTheOthersAndIsTheResult) {
  std::atomic<bool> stopped = false;
  std::latch both(2);
  std::vector<std::unique_ptr<FakeEngine>> fakes;
  fakes.push_back(std::make_unique<FakeEngine>(
      "0", [&](std::span<const Region>, const HashRequest& request) -> Status {
        both.arrive_and_wait();
        std::mutex mutex;
        std::unique_lock lock(mutex);
        std::condition_variable_any().wait(lock, request.stop, [] { return false; });
        stopped = true;
        return fail(ErrorCode::kCancelled, "stopped");
      }));
  fakes.push_back(std::make_unique<FakeEngine>(
      "1", [&, calls = 0](std::span<const Region>, const HashRequest&) mutable -> Status {
        if (calls++ == 0) {
          both.arrive_and_wait();
          return {};
        }
        return fail(ErrorCode::kDeviceFailed, "Fake GPU 1 fell off the bus");
      }));
  const Spread spread = spread_over(std::move(fakes), 64 << 10);
  const Bytes object = pattern(8U << 20);
  const Region region = host_region(object);
  std::vector<std::uint64_t> told;
  const auto result = spread.engine->hash(
      {&region, 1}, {TreeParameters{}, 0, [&](std::uint64_t done) { told.push_back(done); }, {}});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kDeviceFailed);
  EXPECT_EQ(result.error().detail, "Fake GPU 1 fell off the bus");
  EXPECT_TRUE(stopped);
  ASSERT_FALSE(told.empty());
  EXPECT_LT(told.back(), object.size());
}

// It answers without the outline, or for one region fewer.
TEST(SpreadEngine, MemberThatAnswersForOtherRegions_IsInternal) {
  class Liar final : public Engine {
   public:
    [[nodiscard]] const EngineInfo& info() const override { return info_; }
    [[nodiscard]] Result<std::vector<ObjectDigests>> hash(std::span<const Region> regions,
                                                          const HashRequest&) override {
      std::vector<ObjectDigests> digests(regions.size(), ObjectDigests{sha256({}), {}});
      if (!digests.empty() && short_) {
        digests.pop_back();
      }
      return digests;
    }
    EngineInfo info_{"opencl:0", "Liar", "1", {}};
    bool short_ = false;
  };
  for (const bool few : {true, false}) {
    auto liar = std::make_unique<Liar>();
    liar->short_ = few;
    std::vector<std::unique_ptr<Engine>> members;
    members.push_back(std::move(liar));
    const auto engine = SpreadEngine::create(std::move(members), 4096);
    const Bytes object = pattern(50'000);
    const Region region = host_region(object);
    const auto result = (*engine)->hash({&region, 1}, {TreeParameters{}, 16384, {}, {}});
    ASSERT_FALSE(result.has_value()) << few;
    EXPECT_EQ(result.error().code, ErrorCode::kInternal);
  }
}

TEST(SpreadEngine, StopRequestedByTheCaller_ReachesAllMembers) {
  std::latch both(2);
  std::atomic<int> stopped = 0;
  const auto wait = [&](std::span<const Region>, const HashRequest& request) -> Status {
    both.arrive_and_wait();
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any().wait(lock, request.stop, [] { return false; });
    ++stopped;
    return fail(ErrorCode::kCancelled, "stopped");
  };
  const Spread spread = spread_over(2, 64 << 10, wait);
  const Bytes object = pattern(8U << 20);
  const Region region = host_region(object);
  std::stop_source stop;
  std::jthread caller([&] {
    both.wait();
    stop.request_stop();
  });
  const auto result =
      spread.engine->hash({&region, 1}, {TreeParameters{}, 0, {}, stop.get_token()});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(stopped, 2);
}

TEST(SpreadEngine, StopRequestedInProgress_EndsWithCancelled_AndTheEngineIsAsGoodAsBefore) {
  const Spread spread = spread_over(3, 64 << 10);
  const Bytes object = pattern(16U << 20);
  const Region region = host_region(object);
  std::stop_source stop;
  std::uint64_t last = 0;
  const auto result = spread.engine->hash({&region, 1}, {TreeParameters{}, 0,
                                                         [&](std::uint64_t done) {
                                                           last = done;
                                                           stop.request_stop();
                                                         },
                                                         stop.get_token()});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kCancelled);
  EXPECT_LT(last, object.size());
  EXPECT_EQ(hash_one(*spread.engine, {}, region).root, reference_root({}, object));
}

TEST(SpreadEngine, Progress_RisesToTheSumAndComesOneCallAtATime) {
  const Spread spread = spread_over(4, 16384);
  const Bytes object = pattern((8U << 20) + 5);
  const std::vector<Region> regions = {host_region(object), host_region({}), host_region(object)};
  std::vector<std::uint64_t> seen;
  std::atomic<int> inside = 0;
  const auto results = spread.engine->hash(regions, {TreeParameters{},
                                                     0,
                                                     [&](std::uint64_t done) {
                                                       EXPECT_EQ(++inside, 1);
                                                       seen.push_back(done);
                                                       --inside;
                                                     },
                                                     {}});
  ASSERT_TRUE(results.has_value());
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(std::ranges::adjacent_find(seen, std::greater_equal<>()), seen.end());
  EXPECT_EQ(seen.back(), 2 * object.size());
}

TEST(SpreadEngine, CallsFromSeveralThreads_GiveTheSameRoots) {
  const Spread spread = spread_over(2, 64 << 10);
  const Bytes object = pattern(3'000'000);
  const Digest expected = reference_root({}, object);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back(
        [&] { EXPECT_EQ(hash_one(*spread.engine, {}, host_region(object)).root, expected); });
  }
}

TEST(SpreadEngine, BadParametersAndSpans_AreInvalidParameter) {
  const Spread spread = spread_over(2, 4096);
  const Region region;
  for (const auto& [chunk, span] : {std::pair{1000U, 0ULL}, {16384U, 1ULL}, {16384U, 1ULL << 41}}) {
    const auto result = spread.engine->hash(
        {&region, 1}, {TreeParameters{HashAlgorithm::kSha256, chunk}, span, {}, {}});
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidParameter);
  }
  EXPECT_TRUE(spread.engine->hash({}, HashRequest{}).value().empty());
}

}  // namespace
}  // namespace assay::gpu_hash::test
