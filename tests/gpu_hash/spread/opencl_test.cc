// SPDX-License-Identifier: Apache-2.0
// Several OpenCL devices as one engine: two devices where the platform makes them, else two engines
// on one.
#include <cstdlib>

#include <gtest/gtest.h>

#include "gpu_hash/opencl/engine.h"
#include "gpu_hash/spread/engine.h"
#include "gpu_hash/tags.h"
#include "tests/gpu_hash/support.h"

namespace assay::gpu_hash::test {
namespace {

class SpreadOpenCl : public testing::Test {
 protected:
  void SetUp() override {
    // PoCL reads it at the first call of the process, which is this one when the case runs alone.
    ::setenv("POCL_DEVICES", "pthread pthread", 1);
    devices_ = find_cl_devices();
    ::unsetenv("POCL_DEVICES");
    if (devices_.empty()) {
      GTEST_SKIP() << "no OpenCL device";
    }
    static const TempDir cache;
    std::vector<std::unique_ptr<Engine>> members;
    for (std::size_t i = 0; i < 2; ++i) {
      EngineOptions options;
      options.slice_bytes = 1;
      auto engine =
          ClEngine::open(devices_[i % devices_.size()], options, KernelCache(cache.path()));
      ASSERT_TRUE(engine.has_value()) << to_string(engine.error());
      engines_.push_back(engine->get());
      members.push_back(std::move(*engine));
    }
    spread_ = std::move(SpreadEngine::create(std::move(members), 1U << 20).value());
  }

  DevicePiece upload(std::size_t home, ByteView bytes) {
    auto memory = engines_[home]->allocate(bytes.size());
    EXPECT_TRUE(memory.has_value());
    EXPECT_TRUE(engines_[home]->write(**memory, 0, bytes).has_value());
    return {spread_->memory_of(home, *memory), 0, bytes.size()};
  }

  std::vector<ClDevice> devices_;
  std::vector<ClEngine*> engines_;
  std::unique_ptr<SpreadEngine> spread_;
};

TEST_F(SpreadOpenCl, HostMemory_EqualsReference) {
  const Bytes object = pattern((9U << 20) + 77);
  for (const std::uint64_t span : {0U, 65536U, 4U << 20}) {
    const ObjectDigests got = hash_one(*spread_, TreeParameters{}, host_region(object), span);
    EXPECT_EQ(got.root, reference_root({}, object));
    EXPECT_EQ(got.outline, span == 0 ? std::vector<Digest>{} : reference_outline({}, object, span));
  }
}

TEST_F(SpreadOpenCl, DeviceMemoryOfBoth_IsHashedWhereItIs) {
  const Bytes first = pattern(5 * 16384);
  const Bytes second = pattern(100'001);
  std::vector<Region> regions(3);
  regions[0].pieces = {upload(1, second)};
  regions[1].pieces = {upload(0, first), upload(1, first), upload(0, second)};
  regions[2].pieces = {upload(0, first)};
  Bytes whole = first;
  whole.insert(whole.end(), first.begin(), first.end());
  whole.insert(whole.end(), second.begin(), second.end());
  SystemRandom random;
  auto check =
      KeyedCheck::start(*spread_, regions, HashRequest{TreeParameters{}, 32768, {}, {}}, random);
  ASSERT_TRUE(check.has_value()) << to_string(check.error());
  EXPECT_EQ(check->digests()[0].root, reference_root({}, second));
  EXPECT_EQ(check->digests()[1].root, reference_root({}, whole));
  EXPECT_EQ(check->digests()[1].outline, reference_outline({}, whole, 32768));
  EXPECT_EQ(check->digests()[2].root, reference_root({}, first));
  EXPECT_TRUE(engines_[0]->last_path().resident);
  EXPECT_TRUE(engines_[1]->last_path().resident);
  EXPECT_EQ(check->recheck().value(), std::vector<std::size_t>{});
}

// The other member's engine would refuse it; so a wrong route is an error, never a wrong root.
TEST_F(SpreadOpenCl, MemoryUnderTheWrongMember_IsInvalidParameter) {
  const Bytes object = pattern(1000);
  auto memory = engines_[0]->allocate(object.size());
  ASSERT_TRUE(memory.has_value());
  Region region;
  region.pieces = {DevicePiece{spread_->memory_of(1, *memory), 0, object.size()}};
  const auto result = spread_->hash({&region, 1}, HashRequest{});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidParameter);
}

TEST_F(SpreadOpenCl, Devices_AsTheCommandLineNamesThem) {
  const bool gpu = devices_.front().info.type != "cpu";
  const auto all = make_engine(drivers_in_this_process(), *parse_device("opencl:all"));
  ASSERT_TRUE(all.has_value()) << to_string(all.error());
  if (!gpu) {
    EXPECT_EQ((*all)->info().id,
              "opencl:0");  // two devices on one CPU would only be in each other's way
  }
  if (devices_.size() < 2) {
    GTEST_SKIP() << "one device";
  }
  const auto list = make_engine(drivers_in_this_process(), *parse_device("opencl:1,0"));
  ASSERT_TRUE(list.has_value()) << to_string(list.error());
  EXPECT_EQ((*list)->info().id, "opencl:1,0");
  const Bytes object = pattern(3'000'000);
  EXPECT_EQ(hash_one(**list, {}, host_region(object)).root, reference_root({}, object));
}

}  // namespace
}  // namespace assay::gpu_hash::test
