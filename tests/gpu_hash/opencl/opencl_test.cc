// SPDX-License-Identifier: Apache-2.0
// The OpenCL side where it meets the world: the cache of programs, and calls that fail.
#include <fstream>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "gpu_hash/opencl/engine.h"
#include "gpu_hash/opencl/kernel_cache.h"
#include "gpu_hash/opencl/tune.h"
#include "tests/gpu_hash/support.h"

namespace assay::gpu_hash::test {
namespace {

namespace fs = std::filesystem;

TEST(KernelCache, Stored_IsLoadedUnderItsKeyAlone) {
  const TempDir dir;
  const KernelCache cache(dir.path() / "kernels");
  EXPECT_EQ(cache.load("key"), std::nullopt);
  cache.store("key", pattern(1000));
  EXPECT_EQ(cache.load("key"), pattern(1000));
  EXPECT_EQ(cache.load("other"), std::nullopt);
  cache.drop("key");
  EXPECT_EQ(cache.load("key"), std::nullopt);
}

TEST(KernelCache, TruncatedOrChangedOrForeignFile_IsNotLoaded) {
  const TempDir dir;
  const KernelCache cache(dir.path());
  cache.store("key", pattern(100));
  cache.store("other", pattern(100));
  const Bytes whole = read_file(cache.file("key"));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::ofstream(cache.file("key"), std::ios::binary) << as_text(ByteView(whole).first(i));
    EXPECT_EQ(cache.load("key"), std::nullopt) << i;
    Bytes changed = whole;
    changed[i] ^= 0x10;
    std::ofstream(cache.file("key"), std::ios::binary) << as_text(changed);
    EXPECT_EQ(cache.load("key"), std::nullopt) << i;
  }
  fs::copy_file(cache.file("other"), cache.file("key"), fs::copy_options::overwrite_existing);
  EXPECT_EQ(cache.load("key"), std::nullopt);
}

TEST(KernelCache, FileThatOthersCanWriteOrALink_IsNotLoaded) {
  const TempDir dir;
  const KernelCache cache(dir.path());
  cache.store("key", pattern(100));
  ASSERT_EQ(::chmod(cache.file("key").c_str(), 0666), 0);
  EXPECT_EQ(cache.load("key"), std::nullopt);
  cache.store("key", pattern(100));
  fs::rename(cache.file("key"), dir.path() / "elsewhere");
  fs::create_symlink(dir.path() / "elsewhere", cache.file("key"));
  EXPECT_EQ(cache.load("key"), std::nullopt);
}

TEST(KernelCache, NoDirectory_KeepsNothing) {
  const KernelCache cache{fs::path()};
  cache.store("key", pattern(100));
  EXPECT_EQ(cache.load("key"), std::nullopt);
  const KernelCache unwritable("/proc/nowhere");
  unwritable.store("key", pattern(100));
  EXPECT_EQ(unwritable.load("key"), std::nullopt);
}

// Of the variant that the device runs; where there is a choice, it is measured now, and the
// programs of all variants are in the cache after that.
std::string key_in_use(const ClEngine& engine, HashAlgorithm algorithm, const KernelCache& cache) {
  return kernel_cache_key(engine.session(), algorithm,
                          tuned_variant(engine.session(), algorithm, cache));
}

class OpenCl : public testing::Test {
 protected:
  void SetUp() override {
    devices_ = find_cl_devices();
    if (devices_.empty()) {
      GTEST_SKIP() << "no OpenCL device";
    }
  }

  std::unique_ptr<ClEngine> open() {
    auto engine = ClEngine::open(devices_.front(), {}, KernelCache(dir_.path()));
    EXPECT_TRUE(engine.has_value());
    return std::move(*engine);
  }

  TempDir dir_;
  std::vector<ClDevice> devices_;
};

TEST_F(OpenCl, SecondEngine_TakesItsProgramFromTheCache) {
  const ClDevice& device = devices_.front();
  const bool tuned =
      kernel_variants(HashAlgorithm::kSha256, device.vendor, device.info.type).size() > 1;
  EXPECT_EQ((*open()->kernels(HashAlgorithm::kSha256))->from_cache(), tuned);
  const auto engine = open();
  EXPECT_TRUE((*engine->kernels(HashAlgorithm::kSha256))->from_cache());
  const Bytes object = pattern(100'000);
  EXPECT_EQ(hash_one(*engine, {}, host_region(object)).root, reference_root({}, object));
}

// A binary that loads and computes something else: the self-test finds out, the source is built.
TEST_F(OpenCl, WrongProgramInTheCache_IsReplaced) {
  const auto first = open();
  ASSERT_TRUE(first->kernels(HashAlgorithm::kSha384).has_value());
  const KernelCache cache(dir_.path());
  const auto binary = cache.load(key_in_use(*first, HashAlgorithm::kSha384, cache));
  ASSERT_TRUE(binary.has_value());
  const std::string key = key_in_use(*first, HashAlgorithm::kSha256, cache);
  cache.store(key, *binary);

  const auto engine = open();
  const Bytes object = pattern(100'000);
  EXPECT_EQ(hash_one(*engine, {}, host_region(object)).root, reference_root({}, object));
  EXPECT_FALSE((*engine->kernels(HashAlgorithm::kSha256))->from_cache());
  EXPECT_NE(cache.load(key), binary);
}

TEST_F(OpenCl, GarbageInTheCache_IsReplaced) {
  const auto first = open();
  const KernelCache cache(dir_.path());
  cache.store(key_in_use(*first, HashAlgorithm::kSha256, cache), pattern(5000));
  const Bytes object = pattern(100'000);
  EXPECT_EQ(hash_one(*first, {}, host_region(object)).root, reference_root({}, object));
}

// Some drivers refuse the buffer, others only its first use.
TEST_F(OpenCl, MoreMemoryThanThereIs_IsDeviceFailed) {
  const auto session = ClSession::open(devices_.front());
  ASSERT_TRUE(session.has_value());
  const auto queue = session->make_queue();
  ASSERT_TRUE(queue.has_value());
  const auto buffer = session->make_buffer(CL_MEM_READ_WRITE, std::uint64_t{1} << 60);
  Status result = buffer ? Status{} : Status(std::unexpected(buffer.error()));
  if (buffer) {
    const std::uint8_t byte = 1;
    result = session->check("clEnqueueWriteBuffer",
                            clEnqueueWriteBuffer(queue->get(), buffer->get(), CL_TRUE, 0, 1, &byte,
                                                 0, nullptr, nullptr));
  }
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kDeviceFailed);
  EXPECT_NE(result.error().detail.find(session->name()), std::string::npos);
}

TEST_F(OpenCl, DeviceWithTooLittleMemory_IsDeviceFailed) {
  ClDevice small = devices_.front();
  small.info.max_allocation_bytes = 1000;
  const auto engine = ClEngine::open(small, {}, KernelCache(dir_.path()));
  ASSERT_FALSE(engine.has_value());
  EXPECT_EQ(engine.error().code, ErrorCode::kDeviceFailed);
}

TEST_F(OpenCl, SmallAllocationLimit_MakesSmallSlicesAndTheSameRoots) {
  ClDevice small = devices_.front();
  small.info.max_allocation_bytes = 2'500'000;
  const auto engine = ClEngine::open(small, {}, KernelCache(dir_.path()));
  ASSERT_TRUE(engine.has_value());
  EXPECT_EQ((*engine)->slice_bytes(), 2U << 20);
  const Bytes object = pattern(7'000'001);
  EXPECT_EQ(hash_one(**engine, {}, host_region(object)).root, reference_root({}, object));
}

// The variants for other devices are several times slower on a CPU; the tuning must not find them.
TEST_F(OpenCl, CpuDevice_RunsThePlainVariant) {
  if (devices_.front().info.type != "cpu") {
    GTEST_SKIP() << "the first device is no CPU";
  }
  const auto engine = open();
  const Bytes object = pattern(100'000);
  (void)hash_one(*engine, {}, host_region(object));
  EXPECT_EQ(engine->last_path().variant, "plain");
  EXPECT_FALSE(engine->last_path().resident);
  for (const HashAlgorithm algorithm : {HashAlgorithm::kSha256, HashAlgorithm::kSha384}) {
    EXPECT_EQ(kernel_variants(algorithm, "NVIDIA Corporation", "cpu").size(), 1U);
    EXPECT_GT(kernel_variants(algorithm, "NVIDIA Corporation", "gpu").size(), 2U);
  }
}

// A failed call must not leave anything behind that spoils the next one.
TEST_F(OpenCl, AfterAnError_TheEngineGivesRightRoots) {
  const auto engine = open();
  const Bytes object = pattern(3'000'000);
  Region broken = host_region(object);
  struct Foreign final : DeviceMemory {
    [[nodiscard]] std::uint64_t size() const override { return 10; }
  };
  broken.pieces.emplace_back(DevicePiece{std::make_shared<Foreign>(), 0, 10});
  const auto result = engine->hash({&broken, 1}, HashRequest{});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(hash_one(*engine, {}, host_region(object)).root, reference_root({}, object));
}

}  // namespace
}  // namespace assay::gpu_hash::test
