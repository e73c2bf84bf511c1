// SPDX-License-Identifier: Apache-2.0
// Cutting device memory into launches: every byte once, in order, within the limits.
#include "gpu_hash/resident/plan.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "tests/gpu_hash/support.h"

namespace assay::gpu_hash::test {
namespace {

class FakeMemory final : public DeviceMemory {
 public:
  explicit FakeMemory(std::uint64_t size) : size_(size) {}
  [[nodiscard]] std::uint64_t size() const override { return size_; }

 private:
  std::uint64_t size_;
};

// Where a byte of an object lies in device memory.
using Address = std::pair<const DeviceMemory*, std::uint64_t>;

std::vector<Address> addresses_of(const Region& region) {
  std::vector<Address> result;
  for (const Piece& piece : region.pieces) {
    const auto& part = std::get<DevicePiece>(piece);
    for (std::uint64_t i = 0; i < part.size; ++i) {
      result.emplace_back(part.memory.get(), part.offset + i);
    }
  }
  return result;
}

// What the launches of a batch read, byte by byte, in the order of slots.
std::vector<Address> addresses_of(const ResidentBatch& batch) {
  std::map<std::uint64_t, Address> side;
  for (const PlannedCopies& copies : batch.copies) {
    for (const ByteCopy& copy : copies.copies) {
      for (std::uint64_t i = 0; i < copy.size; ++i) {
        EXPECT_TRUE(
            side.try_emplace(copy.to + i, copies.memory.at(copy.buffer), copy.from + i).second);
      }
    }
  }
  std::vector<Address> result;
  std::uint32_t slot = 0;
  for (const PlannedLaunch& launch : batch.launches) {
    EXPECT_EQ(launch.first_slot, slot);
    slot += launch.slots;
    for (const Run& run : launch.runs) {
      EXPECT_EQ(launch.aligned, run.offset % 16 == 0);
      for (std::uint64_t i = 0; i < run.size; ++i) {
        const DeviceMemory* memory = launch.memory.at(run.buffer);
        result.push_back(memory == nullptr ? side.at(run.offset + i)
                                           : Address(memory, run.offset + i));
      }
    }
  }
  EXPECT_EQ(slot, batch.first_slot.back());
  return result;
}

TEST(ResidentPlan, RandomPieces_EveryByteOnceInOrder_WithinLimits) {
  Random random;
  SCOPED_TRACE(random.text());
  for (int round = 0; round < 60; ++round) {
    std::vector<std::shared_ptr<FakeMemory>> memory;
    for (std::size_t i = 1 + random.below(7); i > 0; --i) {
      memory.push_back(std::make_shared<FakeMemory>(40000));
    }
    std::vector<Region> regions(1 + random.below(4));
    std::vector<Address> expected;
    for (Region& region : regions) {
      for (std::size_t i = random.below(6); i > 0; --i) {
        const std::uint64_t offset =
            random.below(2) == 0 ? 16 * random.below(100) : random.below(1000);
        region.pieces.emplace_back(
            DevicePiece{memory[random.below(memory.size())], offset, random.below(20000)});
      }
      const std::vector<Address> own = addresses_of(region);
      expected.insert(expected.end(), own.begin(), own.end());
    }
    const HashRequest request{TreeParameters{HashAlgorithm::kSha256, 4096}, 0, {}, {}};
    const auto sizes = region_sizes(regions);
    ASSERT_TRUE(sizes.has_value());
    const auto segment = static_cast<std::uint32_t>(4U << random.below(4));
    const ResidentPlan::Limits limits{segment,
                                      segment + static_cast<std::uint32_t>(random.below(40)), 3};
    ResidentPlan plan(regions, *sizes, request, limits);
    std::vector<Address> got;
    ResidentBatch batch;
    while (plan.next(batch)) {
      EXPECT_LE(batch.first_slot.back(), limits.slots);
      for (const PlannedLaunch& launch : batch.launches) {
        EXPECT_LE(launch.memory.size(), limits.buffers);
      }
      for (const PlannedCopies& copies : batch.copies) {
        EXPECT_LE(copies.memory.size(), limits.buffers);
      }
      const std::vector<Address> own = addresses_of(batch);
      got.insert(got.end(), own.begin(), own.end());
    }
    ASSERT_EQ(got, expected) << "round " << round;
  }
}

TEST(ResidentPlan, AlignedMemoryInOnePiece_IsReadInPlaceInOneLaunch) {
  const auto memory = std::make_shared<FakeMemory>(1U << 20);
  Region region;
  region.pieces.emplace_back(DevicePiece{memory, 16, 1000000});
  const std::vector<std::uint64_t> sizes = {1000000};
  const HashRequest request{};
  ResidentPlan plan({&region, 1}, sizes, request, {1024, 1024, 256});
  ResidentBatch batch;
  ASSERT_TRUE(plan.next(batch));
  EXPECT_EQ(batch.launches.size(), 1U);
  EXPECT_EQ(batch.launches[0].runs.size(), 1U);
  EXPECT_TRUE(batch.copies.empty());
  EXPECT_FALSE(plan.next(batch));
  EXPECT_TRUE(batch.segments.empty());
}

TEST(ResidentPlan, LargeBuffers_HaveLaunchesOfTheirOwn) {
  constexpr std::uint64_t size = std::uint64_t{6} << 30;
  const auto first = std::make_shared<FakeMemory>(size);
  const auto second = std::make_shared<FakeMemory>(size);
  Region region;
  region.pieces.emplace_back(DevicePiece{first, 0, size});
  region.pieces.emplace_back(DevicePiece{second, 0, size});
  const std::vector<std::uint64_t> sizes = {2 * size};
  const HashRequest request{};
  ResidentPlan plan({&region, 1}, sizes, request, {1U << 23, 1U << 23, 256});
  ResidentBatch batch;
  ASSERT_TRUE(plan.next(batch));
  ASSERT_EQ(batch.launches.size(), 2U);
  EXPECT_EQ(batch.launches[0].memory, std::vector<const DeviceMemory*>{first.get()});
  EXPECT_EQ(batch.launches[1].memory, std::vector<const DeviceMemory*>{second.get()});
  EXPECT_EQ(batch.launches[1].first_slot, batch.launches[0].slots);
}

}  // namespace
}  // namespace assay::gpu_hash::test
