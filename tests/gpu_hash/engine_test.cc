// SPDX-License-Identifier: Apache-2.0
// Every engine against the vectors and against the reference, in every shape of input.
#include <string>

#include <gtest/gtest.h>

#include "gpu_hash/artifact_hash.h"
#include "gpu_hash/cpu_engine.h"
#include "gpu_hash/source_file.h"
#include "tests/gpu_hash/support.h"

namespace assay::gpu_hash::test {
namespace {

constexpr HashAlgorithm kAlgorithms[] = {HashAlgorithm::kSha256, HashAlgorithm::kSha384};

// "cpu1": one thread; "cpu5": more threads than cores; "opencl": slices of 1 MiB, the smallest.
class EveryEngine : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "opencl") {
      engine_ = opencl_engine();
      if (engine_ == nullptr) {
        GTEST_SKIP() << "no OpenCL device";
      }
    } else {
      engine_ = make_cpu_engine(GetParam() == "cpu1" ? 1 : 5);
    }
  }

  std::unique_ptr<Engine> engine_;
};

INSTANTIATE_TEST_SUITE_P(All, EveryEngine, testing::Values("cpu1", "cpu5", "opencl"),
                         [](const auto& test) { return test.param; });

TEST_P(EveryEngine, Info_NamesTheEngineThatRan) {
  if (GetParam() == "opencl") {
    EXPECT_EQ(engine_->info().id, "opencl:0");
    EXPECT_TRUE(engine_->info().kernel_digest.has_value());
  } else {
    EXPECT_EQ(engine_->info().id, "cpu");
    EXPECT_FALSE(engine_->info().kernel_digest.has_value());
  }
  EXPECT_FALSE(engine_->info().device.empty());
}

TEST_P(EveryEngine, TreeVectors_GiveRootAndOutline) {
  const Json vectors = load_vectors("tree");
  for (const Json& item : vectors["cases"]) {
    const HashAlgorithm algorithm = *hash_algorithm_from(item["hash"].get<std::string>());
    const TreeParameters parameters{algorithm, item["chunk_size"].get<std::uint32_t>()};
    const Bytes object = pattern(item["size"].get<std::size_t>());
    const ObjectDigests got =
        hash_one(*engine_, parameters, host_region(object), item["span"].get<std::uint64_t>());
    ASSERT_EQ(got.root.hex(), item["root"].get<std::string>()) << item["size"];
    std::vector<std::string> outline;
    for (const Digest& digest : got.outline) {
      outline.push_back(digest.hex());
    }
    ASSERT_EQ(outline, item["outline"].get<std::vector<std::string>>()) << item["size"];
  }
}

TEST_P(EveryEngine, RefusedChunkSizes_AreInvalidParameters) {
  const Json vectors = load_vectors("tree");
  for (const Json& size : vectors["refused_chunk_sizes"]) {
    const auto chunk_size = size.get<std::int64_t>();
    if (chunk_size < 0 || chunk_size > 0xFFFFFFFF) {
      continue;  // the type refuses it
    }
    const Region region;
    const HashRequest request{{HashAlgorithm::kSha256, static_cast<std::uint32_t>(chunk_size)}};
    const auto result = engine_->hash({&region, 1}, request);
    ASSERT_FALSE(result.has_value()) << chunk_size;
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidParameter);
  }
}

TEST_P(EveryEngine, BordersInOneBatch_EqualReference) {
  for (const HashAlgorithm algorithm : kAlgorithms) {
    for (const std::uint32_t chunk_size : {4096U, 16384U, 65536U}) {
      const TreeParameters parameters{algorithm, chunk_size};
      std::vector<Bytes> objects;
      for (std::size_t size = 0; size <= 8; ++size) {
        objects.push_back(pattern(size));
      }
      for (const std::size_t border : {64U, 128U, chunk_size, 2 * chunk_size, 3 * chunk_size,
                                       5 * chunk_size, 8 * chunk_size, 9 * chunk_size}) {
        objects.push_back(pattern(border - 1));
        objects.push_back(pattern(border));
        objects.push_back(pattern(border + 1));
      }
      std::vector<Region> regions;
      for (const Bytes& object : objects) {
        regions.push_back(host_region(object));
      }
      const auto results = engine_->hash(regions, {parameters, 2 * chunk_size, {}, {}});
      ASSERT_TRUE(results.has_value()) << to_string(results.error());
      for (std::size_t i = 0; i < objects.size(); ++i) {
        ASSERT_EQ((*results)[i].root, reference_root(parameters, objects[i])) << objects[i].size();
        ASSERT_EQ((*results)[i].outline, reference_outline(parameters, objects[i], 2 * chunk_size));
      }
    }
  }
}

// Each number of leaves has an odd one at other levels; the last leaf is whole or not.
TEST_P(EveryEngine, EveryNumberOfLeaves_EqualsReference) {
  constexpr std::size_t chunk_size = 4096;
  const Bytes bytes = pattern(131 * chunk_size);
  for (const HashAlgorithm algorithm : kAlgorithms) {
    const TreeParameters parameters{algorithm, chunk_size};
    std::vector<ByteView> objects;
    std::vector<Region> regions;
    for (std::size_t leaves = 1; leaves <= 130; ++leaves) {
      for (const std::size_t size : {leaves * chunk_size - 1, leaves * chunk_size}) {
        objects.push_back(ByteView(bytes).first(size));
        regions.push_back(host_region(objects.back()));
      }
    }
    const auto results = engine_->hash(regions, {parameters, 0, {}, {}});
    ASSERT_TRUE(results.has_value()) << to_string(results.error());
    for (std::size_t i = 0; i < objects.size(); ++i) {
      ASSERT_EQ((*results)[i].root, reference_root(parameters, objects[i])) << objects[i].size();
    }
  }
}

// What engines cut objects into: 64 KiB and 1 MiB.
TEST_P(EveryEngine, SegmentAndSliceBorders_EqualReference) {
  for (const HashAlgorithm algorithm : kAlgorithms) {
    const TreeParameters parameters{algorithm, 16384};
    for (const std::size_t border :
         {std::size_t{1} << 16, std::size_t{1} << 17, std::size_t{1} << 20, std::size_t{3} << 20}) {
      for (const std::size_t size : {border - 1, border, border + 1}) {
        const Bytes object = pattern(size);
        EXPECT_EQ(hash_one(*engine_, parameters, host_region(object)).root,
                  reference_root(parameters, object))
            << size;
      }
    }
  }
}

// Larger than a slice and than a CPU segment, with a small object on either side.
TEST_P(EveryEngine, ObjectAcrossSlices_EqualsReferenceAtEverySpan) {
  const TreeParameters parameters{HashAlgorithm::kSha256, 16384};
  const Bytes large = pattern(5 * (1U << 20) + 12345);
  const Bytes small = pattern(3);
  const std::vector<Region> regions = {host_region(small), host_region(large), host_region(small)};
  for (const std::uint64_t span :
       {std::uint64_t{0}, std::uint64_t{16384}, std::uint64_t{65536}, std::uint64_t{1} << 20,
        std::uint64_t{1} << 21, std::uint64_t{1} << 40}) {
    const auto results = engine_->hash(regions, {parameters, span, {}, {}});
    ASSERT_TRUE(results.has_value()) << to_string(results.error());
    EXPECT_EQ((*results)[0].root, reference_root(parameters, small));
    EXPECT_EQ((*results)[1].root, reference_root(parameters, large)) << span;
    EXPECT_EQ((*results)[2].root, reference_root(parameters, small));
    if (span != 0) {
      EXPECT_EQ((*results)[1].outline, reference_outline(parameters, large, span)) << span;
    }
  }
}

TEST_P(EveryEngine, LargestChunk_EqualsReference) {
  const TreeParameters parameters{HashAlgorithm::kSha384, kMaxChunkSize};
  const Bytes object = pattern(3 * kMaxChunkSize + 1);
  EXPECT_EQ(hash_one(*engine_, parameters, host_region(object)).root,
            reference_root(parameters, object));
}

TEST_P(EveryEngine, PiecesOfAnyKindAndBorder_EqualTheWhole) {
  const TreeParameters parameters{HashAlgorithm::kSha256, 4096};
  const Bytes object = pattern(3U << 20);
  const TempDir dir;
  const auto source = SourceFile::find(dir.write("data", object));
  ASSERT_TRUE(source.has_value());
  Region region;
  const std::size_t cuts[] = {0, 1, 4097, 4097, 100003, 1U << 20, (1U << 20) + 7, object.size()};
  for (std::size_t i = 0; i + 1 < std::size(cuts); ++i) {
    const std::size_t size = cuts[i + 1] - cuts[i];
    if (i % 2 == 0) {
      region.pieces.emplace_back(HostPiece{ByteView(object).subspan(cuts[i], size)});
    } else {
      region.pieces.emplace_back(FilePiece{*source, cuts[i], size});
    }
  }
  EXPECT_EQ(hash_one(*engine_, parameters, region).root, reference_root(parameters, object));
}

TEST_P(EveryEngine, RandomLayouts_EqualReference) {
  Random random;
  SCOPED_TRACE(random.text());
  const Bytes bytes = pattern(300'000);
  for (int round = 0; round < 1000; ++round) {
    const TreeParameters parameters{kAlgorithms[random.below(2)], 4096U << (random.below(3))};
    const std::uint64_t span =
        random.below(2) == 0 ? 0 : std::uint64_t{parameters.chunk_size} << (random.below(4));
    std::vector<ByteView> objects;
    std::vector<Region> regions;
    for (std::size_t i = 1 + random.below(5); i > 0; --i) {
      const std::size_t begin = random.below(1000);
      const std::size_t size = random.below(random.below(8) == 0 ? 250'000 : 9'000);
      objects.push_back(ByteView(bytes).subspan(begin, size));
      regions.push_back(host_region(objects.back()));
    }
    const auto results = engine_->hash(regions, {parameters, span, {}, {}});
    ASSERT_TRUE(results.has_value()) << to_string(results.error());
    for (std::size_t i = 0; i < objects.size(); ++i) {
      ASSERT_EQ((*results)[i].root, reference_root(parameters, objects[i])) << "round " << round;
      if (span != 0) {
        ASSERT_EQ((*results)[i].outline, reference_outline(parameters, objects[i], span))
            << "round " << round;
      }
    }
  }
}

TEST_P(EveryEngine, ThousandsOfTinyObjects_EqualReference) {
  const TreeParameters parameters{};
  const Bytes bytes = pattern(4000);
  std::vector<Region> regions;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    regions.push_back(host_region(ByteView(bytes).first(size)));
  }
  const auto results = engine_->hash(regions, {parameters, 0, {}, {}});
  ASSERT_TRUE(results.has_value()) << to_string(results.error());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_EQ((*results)[size].root, reference_root(parameters, ByteView(bytes).first(size)));
  }
}

TEST_P(EveryEngine, NoRegions_GiveNoResults) {
  const auto results = engine_->hash({}, HashRequest{});
  ASSERT_TRUE(results.has_value());
  EXPECT_TRUE(results->empty());
}

TEST_P(EveryEngine, Progress_CountsEveryByteOnceAndInOrder) {
  const Bytes object = pattern((4U << 20) + 5);
  const std::vector<Region> regions = {host_region(object), host_region({}), host_region(object)};
  std::vector<std::uint64_t> seen;
  const auto results = engine_->hash(
      regions, {TreeParameters{}, 0, [&](std::uint64_t done) { seen.push_back(done); }, {}});
  ASSERT_TRUE(results.has_value());
  ASSERT_FALSE(seen.empty());
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(seen.back(), 2 * object.size());
}

TEST_P(EveryEngine, StopRequestedInProgress_EndsWithCancelled) {
  const Bytes object = pattern(16U << 20);
  std::stop_source stop;
  const Region region = host_region(object);
  std::uint64_t last = 0;
  const auto result = engine_->hash({&region, 1}, {TreeParameters{}, 0,
                                                   [&](std::uint64_t done) {
                                                     last = done;
                                                     stop.request_stop();
                                                   },
                                                   stop.get_token()});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kCancelled);
  EXPECT_LT(last, object.size());
  // The engine is as good as before.
  EXPECT_EQ(hash_one(*engine_, {}, region).root, reference_root({}, object));
}

TEST_P(EveryEngine, DeviceMemoryOfNobody_IsInvalidParameter) {
  struct Foreign final : DeviceMemory {
    [[nodiscard]] std::uint64_t size() const override { return 10; }
  };
  Region region;
  region.pieces.emplace_back(DevicePiece{std::make_shared<Foreign>(), 0, 10});
  const auto result = engine_->hash({&region, 1}, HashRequest{});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidParameter);
}

TEST_P(EveryEngine, BadSpan_IsInvalidParameter) {
  const Region region;
  for (const std::uint64_t span :
       {std::uint64_t{1}, std::uint64_t{8192}, std::uint64_t{16385}, std::uint64_t{1} << 41}) {
    const auto result = engine_->hash({&region, 1}, {TreeParameters{}, span, {}, {}});
    ASSERT_FALSE(result.has_value()) << span;
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidParameter);
  }
}

}  // namespace
}  // namespace assay::gpu_hash::test
