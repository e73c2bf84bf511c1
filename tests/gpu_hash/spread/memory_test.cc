// SPDX-License-Identifier: Apache-2.0
// Several engines as one: objects in the memory of their devices.
#include <set>

#include <gtest/gtest.h>

#include "gpu_hash/spread/engine.h"
#include "schemas/core/random.h"
#include "tests/gpu_hash/fake_engine.h"

namespace assay::gpu_hash::test {
namespace {

// Random pieces in the memory of random members, whole chunks wherever the member changes.
TEST(SpreadMemory, ObjectsInTheMemoryOfSeveralMembers_EqualTheCpuEngine) {
  Random random;
  SCOPED_TRACE(random.text());
  const auto cpu = make_cpu_engine(1);
  const Spread spread = spread_over(3, 16384);
  for (int round = 0; round < 500; ++round) {
    const TreeParameters parameters{kAlgorithms[random.below(2)], 4096};
    std::vector<Region> device(1 + random.below(3));
    std::vector<Bytes> objects(device.size());
    std::set<std::size_t> homes;
    for (std::size_t i = 0; i < device.size(); ++i) {
      std::size_t home = random.below(3);
      for (std::size_t runs = random.below(5); runs > 0; --runs) {
        std::size_t run = 4096 * (1 + random.below(40)) + (runs == 1 ? random.below(4096) : 0);
        for (; run > 0; homes.insert(home)) {
          const std::size_t size = random.below(2) == 0 ? run : 1 + random.below(run);
          const std::size_t skip = random.below(100);
          const Bytes bytes = pattern(skip + size + 3);
          device[i].pieces.emplace_back(DevicePiece{
              spread.engine->memory_of(home, spread.fakes[home]->upload(bytes)), skip, size});
          objects[i].insert(objects[i].end(), bytes.begin() + static_cast<std::ptrdiff_t>(skip),
                            bytes.end() - 3);
          run -= size;
        }
        home = random.below(3);
      }
    }
    std::vector<Region> host;
    for (const Bytes& object : objects) {
      host.push_back(host_region(object));
    }
    const std::uint64_t span = random.below(2) == 0 ? 0 : 4096U << random.below(7);
    const HashRequest request{parameters, span, {}, {}};
    const auto got = spread.engine->hash(device, request);
    ASSERT_TRUE(got.has_value()) << to_string(got.error());
    ASSERT_NO_FATAL_FAILURE(
        expect_same(*got, cpu->hash(host, request).value(), "round " + std::to_string(round)));
  }
}

TEST(SpreadMemory, ObjectWithinOneMember_IsNotCut) {
  const Spread spread = spread_over(2, 4096);
  const Bytes object = pattern(1'000'001);
  Region region;
  region.pieces.emplace_back(
      DevicePiece{spread.engine->memory_of(1, spread.fakes[1]->upload(object)), 0, object.size()});
  EXPECT_EQ(hash_one(*spread.engine, {}, region, 16384).outline,
            reference_outline({}, object, 16384));
  EXPECT_EQ(spread.fakes[1]->calls(), 1);
  EXPECT_EQ(spread.fakes[0]->calls(), 0);
}

TEST(SpreadMemory, ChunkInTheMemoryOfTwoMembers_IsInvalidParameter) {
  const Spread spread = spread_over(2, 4096);
  const Bytes bytes = pattern(100'000);
  for (const std::size_t border : {1U, 16383U, 16385U, 40'000U}) {
    Region region;
    for (const std::size_t home : {0U, 1U}) {
      region.pieces.emplace_back(DevicePiece{
          spread.engine->memory_of(home, spread.fakes[home]->upload(bytes)), 0, border});
    }
    const auto result = spread.engine->hash({&region, 1}, HashRequest{});
    ASSERT_FALSE(result.has_value()) << border;
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidParameter);
    EXPECT_NE(result.error().detail.find("a chunk lies in the memory of two devices"),
              std::string::npos);
  }
}

TEST(SpreadMemory, MemoryThatIsNotItsOwnOrOutOfBoundsOrMixed_IsInvalidParameter) {
  const Spread spread = spread_over(2, 4096);
  const Spread other = spread_over(2, 4096);
  const Bytes bytes = pattern(100);
  const auto good = spread.engine->memory_of(0, spread.fakes[0]->upload(bytes));
  std::vector<Region> bad(6);
  bad[0].pieces.emplace_back(DevicePiece{spread.fakes[0]->upload(bytes), 0, 100});
  bad[1].pieces.emplace_back(
      DevicePiece{other.engine->memory_of(0, other.fakes[0]->upload(bytes)), 0, 100});
  bad[2].pieces.emplace_back(DevicePiece{good, 0, 101});
  bad[3].pieces.emplace_back(DevicePiece{good, 101, 0});
  bad[4].pieces.emplace_back(DevicePiece{good, ~0ULL, 2});
  bad[5].pieces = {DevicePiece{good, 0, 100}, HostPiece{bytes}};
  for (std::size_t i = 0; i < bad.size(); ++i) {
    const auto result = spread.engine->hash({&bad[i], 1}, HashRequest{});
    ASSERT_FALSE(result.has_value()) << i;
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidParameter) << i;
  }
}

TEST(SpreadMemory, Import_GoesToTheMemberThatIsNamed) {
  const Spread spread = spread_over(2, 4096);
  const auto memory = spread.engine->import_memory(1, Descriptor(), 5000);
  ASSERT_TRUE(memory.has_value());
  Region region;
  region.pieces.emplace_back(DevicePiece{*memory, 0, 5000});
  EXPECT_EQ(hash_one(*spread.engine, {}, region).root, reference_root({}, Bytes(5000)));
  EXPECT_EQ(spread.fakes[1]->bytes(), 5000U);
  for (const auto& refused : {spread.engine->import_memory(2, Descriptor(), 1),
                              spread.engine->import_memory(Descriptor(), 1)}) {
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidParameter);
  }
  EXPECT_TRUE(spread_over(1, 4096).engine->import_memory(Descriptor(), 1).has_value());
}

TEST(SpreadMemory, KeyedCheck_SeesAChangeOnAnyMember) {
  const Spread spread = spread_over(2, 4096);
  Bytes bytes = pattern(3 * 16384);
  std::vector<Region> regions(3);
  const auto upload = [&](std::size_t home) {
    return DevicePiece{spread.engine->memory_of(home, spread.fakes[home]->upload(bytes)), 0,
                       bytes.size()};
  };
  regions[0].pieces = {upload(1)};
  regions[2].pieces = {upload(0), upload(1), upload(0)};
  SystemRandom random;
  auto check = KeyedCheck::start(*spread.engine, regions, HashRequest{}, random);
  ASSERT_TRUE(check.has_value()) << to_string(check.error());
  Bytes whole;
  for (int i = 0; i < 3; ++i) {
    whole.insert(whole.end(), bytes.begin(), bytes.end());
  }
  EXPECT_EQ(check->digests()[2].root, reference_root({}, whole));
  EXPECT_EQ(check->recheck().value(), std::vector<std::size_t>{});
  const auto key = TagKey::draw(random);
  const auto tags = spread.engine->tags(regions, HashRequest{}, *key);
  ASSERT_TRUE(tags.has_value());
  EXPECT_EQ((*tags)[0].size(), 1U);
  EXPECT_TRUE((*tags)[1].empty());
  bytes[40'000] ^= 1;
  regions[2].pieces[1] = upload(1);
  const auto changed = spread.engine->tags(regions, HashRequest{}, *key);
  ASSERT_TRUE(changed.has_value());
  EXPECT_EQ((*changed)[0], (*tags)[0]);
  EXPECT_NE((*changed)[2], (*tags)[2]);
  const Region host = host_region(bytes);
  EXPECT_EQ(spread.engine->tags({&host, 1}, HashRequest{}, *key).error().code,
            ErrorCode::kInvalidParameter);
}

}  // namespace
}  // namespace assay::gpu_hash::test
