// SPDX-License-Identifier: Apache-2.0
// Which engine a choice leads to, and the self-test that stands before it.
#include "gpu_hash/dispatch.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "gpu_hash/choose/choose.h"
#include "gpu_hash/cpu_engine.h"
#include "gpu_hash/device.h"
#include "gpu_hash/drivers.h"
#include "gpu_hash/opencl/opencl.h"
#include "gpu_hash/tree/known_answers.h"
#include "tests/gpu_hash/support.h"

namespace assay::gpu_hash::test {
namespace {

using Kind = DeviceChoice::Kind;

DeviceInfo device(const std::string& name, const std::string& type) {
  DeviceInfo info;
  info.name = name;
  info.type = type;
  return info;
}

Result<std::optional<unsigned>> choose(std::string_view text,
                                       const std::vector<DeviceInfo>& devices) {
  return choose_device(*parse_device(text), devices);
}

TEST(ParseDevice, Forms_AreTaken) {
  EXPECT_EQ(parse_device("auto")->kind, Kind::kAuto);
  EXPECT_EQ(parse_device("cpu")->kind, Kind::kCpu);
  EXPECT_EQ(parse_device("opencl")->kind, Kind::kOpenCl);
  EXPECT_EQ(parse_device("opencl")->index, std::nullopt);
  EXPECT_EQ(parse_device("opencl:3")->index, 3U);
  EXPECT_EQ(parse_device("opencl:H200")->name, "H200");
  EXPECT_TRUE(parse_device("opencl:all")->all);
  EXPECT_EQ(parse_device("opencl:2,0")->indices, (std::vector<unsigned>{2, 0}));
}

TEST(ParseDevice, OtherText_IsUsage) {
  for (const char* text :
       {"", "gpu", "CPU", "opencl:", "cpu:0", "auto ", "opencl:99999999999", "opencl:0,",
        "opencl:,0", "opencl:,", "opencl:0,0", "opencl:0,99999999999",
        "opencl:0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16"}) {
    const auto choice = parse_device(text);
    ASSERT_FALSE(choice.has_value()) << text;
    EXPECT_EQ(choice.error().code, ErrorCode::kUsage);
  }
}

// Rates by device index, the CPU's first; counts the measurements. Below zero: the device fails.
struct FakeRates {
  std::vector<double> rates;
  int asked = 0;

  MeasureRate function() {
    return [this](std::optional<unsigned> index) -> Result<double> {
      ++asked;
      const double rate = rates[index ? *index + 1 : 0];
      if (rate < 0) {
        return fail(ErrorCode::kDeviceSelfTestFailed, "a wrong digest");
      }
      return rate;
    };
  }
};

const KernelCache kNoCache{std::filesystem::path()};

TEST(ChooseAuto, ACpuDevice_IsNeverTakenAndNotMeasured) {
  FakeRates fake{{1e9, 9e9}};
  EXPECT_EQ(choose_auto({}, "cpu", fake.function(), kNoCache).index, std::nullopt);
  const AutoChoice choice = choose_auto({device("pocl", "cpu")}, "cpu", fake.function(), kNoCache);
  EXPECT_EQ(choice.index, std::nullopt);
  EXPECT_EQ(choice.id, "cpu");
  EXPECT_EQ(fake.asked, 0);
}

TEST(ChooseAuto, TheFastestByMeasurement_IsTaken) {
  const std::vector<DeviceInfo> devices = {device("slow", "gpu"), device("fast", "accelerator"),
                                           device("pocl", "cpu")};
  EXPECT_EQ(
      choose_auto(devices, "cpu", FakeRates{{2e9, 1e9, 5e10, 9e11}}.function(), kNoCache).index,
      1U);
  EXPECT_EQ(
      choose_auto(devices, "cpu", FakeRates{{2e9, 1e9, 1.9e9, 9e11}}.function(), kNoCache).index,
      std::nullopt);
}

TEST(ChooseAuto, ADeviceThatFails_IsNotTakenAndTheReasonSaysSo) {
  FakeRates fake{{2e9, -1}};
  const AutoChoice choice = choose_auto({device("liar", "gpu")}, "cpu", fake.function(), kNoCache);
  EXPECT_EQ(choice.index, std::nullopt);
  EXPECT_NE(choice.reason.find("device-self-test-failed"), std::string::npos) << choice.reason;
}

TEST(ChooseAuto, Rates_AreKeptByDeviceDriverAndProcessor) {
  const TempDir dir;
  const KernelCache cache(dir.path());
  FakeRates fake{{2e9, 5e10}};
  std::vector<DeviceInfo> devices = {device("H200", "gpu")};
  devices[0].id = "opencl:0";
  EXPECT_EQ(choose_auto(devices, "cpu", fake.function(), cache).id, "opencl:0");
  EXPECT_EQ(fake.asked, 2);
  EXPECT_EQ(choose_auto(devices, "cpu", fake.function(), cache).id, "opencl:0");
  EXPECT_EQ(fake.asked, 2);
  devices[0].driver = "newer";
  fake.rates[1] = 1e9;
  EXPECT_EQ(choose_auto(devices, "cpu", fake.function(), cache).id, "cpu");
  EXPECT_EQ(fake.asked, 3);
  (void)choose_auto(devices, "another cpu", fake.function(), cache);
  EXPECT_EQ(fake.asked, 5);
}

TEST(ChooseDevice, Cpu_IsTheCpuEngineWhateverThereIs) {
  EXPECT_EQ(choose("cpu", {device("H200", "gpu")}), std::nullopt);
}

TEST(ChooseDevice, OpenCl_TakesTheFirstTheNumberOrTheName) {
  const std::vector<DeviceInfo> devices = {
      device("NVIDIA H200", "gpu"), device("NVIDIA H200", "gpu"), device("pthread-zen", "cpu")};
  EXPECT_EQ(choose("opencl", devices), 0U);
  EXPECT_EQ(choose("opencl:2", devices), 2U);
  EXPECT_EQ(choose("opencl:zen", devices), 2U);
  for (const char* text : {"opencl:3", "opencl:H200", "opencl:AMD"}) {
    const auto chosen = choose(text, devices);
    ASSERT_FALSE(chosen.has_value()) << text;
    EXPECT_EQ(chosen.error().code, ErrorCode::kDeviceNotFound);
  }
  EXPECT_EQ(choose("opencl", {}).error().code, ErrorCode::kDeviceNotFound);
}

TEST(ChooseDevices, All_IsEveryDeviceButCpus_AndTheFirstCpuWhereThereIsNothingElse) {
  const auto all = *parse_device("opencl:all");
  const DeviceInfo cpu = device("pthread-zen", "cpu");
  std::vector<DeviceInfo> devices = {device("H200", "gpu"), device("H200", "gpu"),
                                     device("Max", "accelerator"), cpu};
  EXPECT_EQ(choose_devices(all, devices), (std::vector<unsigned>{0, 1, 2}));
  EXPECT_EQ(choose_devices(all, {cpu, cpu}), std::vector<unsigned>{0});
  EXPECT_EQ(choose_devices(all, {}).error().code, ErrorCode::kDeviceNotFound);
  devices.assign(kMaxSharingDevices, device("H200", "gpu"));
  EXPECT_EQ(choose_devices(all, devices)->size(), kMaxSharingDevices);
  devices.push_back(device("H200", "gpu"));
  EXPECT_EQ(choose_devices(all, devices).error().code, ErrorCode::kLimitExceeded);
}

TEST(ChooseDevices, List_IsTakenInItsOrder) {
  const std::vector<DeviceInfo> devices = {device("H200", "gpu"), device("H200", "gpu"),
                                           device("pthread-zen", "cpu")};
  EXPECT_EQ(choose_devices(*parse_device("opencl:2,0"), devices), (std::vector<unsigned>{2, 0}));
  EXPECT_EQ(choose_devices(*parse_device("opencl:0,3"), devices).error().code,
            ErrorCode::kDeviceNotFound);
}

TEST(ChooseDevice, Several_IsUsage) {
  const std::vector<DeviceInfo> devices = {device("H200", "gpu"), device("H200", "gpu")};
  for (const char* text : {"opencl:all", "opencl:0,1"}) {
    EXPECT_EQ(choose(text, devices).error().code, ErrorCode::kUsage);
  }
}

TEST(MakeEngine, Cpu_RunsOnTheCpu) {
  const auto engine = make_engine(drivers_in_this_process(), *parse_device("cpu"));
  ASSERT_TRUE(engine.has_value());
  EXPECT_EQ((*engine)->info().id, "cpu");
}

TEST(MakeEngine, Auto_RunsOnWhatTheChoiceSays) {
  const AutoChoice choice = choose_auto(drivers_in_this_process());
  const auto devices = list_opencl_devices().devices;
  if (std::ranges::all_of(devices, [](const auto& found) { return found.type == "cpu"; })) {
    EXPECT_EQ(choice.id, "cpu");
  }
  const auto engine = make_engine(drivers_in_this_process(), *parse_device("auto"));
  ASSERT_TRUE(engine.has_value()) << to_string(engine.error());
  EXPECT_EQ((*engine)->info().id, choice.id);
}

// On a machine, or in a build, without OpenCL.
TEST(MakeEngine, OpenClWithoutADevice_IsDeviceNotFoundAndSaysWhy) {
  if (!list_opencl_devices().devices.empty()) {
    GTEST_SKIP() << "there is an OpenCL device";
  }
  const auto engine = make_engine(drivers_in_this_process(), *parse_device("opencl"));
  ASSERT_FALSE(engine.has_value());
  EXPECT_EQ(engine.error().code, ErrorCode::kDeviceNotFound);
  EXPECT_NE(engine.error().detail.find("OpenCL"), std::string::npos);
}

TEST(ListDevices, CpuIsFirstAndGpusLeadTheRest) {
  const auto devices = list_devices(drivers_in_this_process()).devices;
  ASSERT_FALSE(devices.empty());
  EXPECT_EQ(devices.front().id, "cpu");
  for (std::size_t i = 1; i < devices.size(); ++i) {
    EXPECT_EQ(devices[i].id, "opencl:" + std::to_string(i - 1));
    EXPECT_FALSE(devices[i].type == "gpu" && devices[i - 1].type == "cpu" && i > 1);
  }
}

TEST(SelfTestDevices, EveryDevicePasses) {
  const auto results = self_test_devices(drivers_in_this_process());
  ASSERT_FALSE(results.empty());
  for (const SelfTest& test : results) {
    EXPECT_TRUE(test.result.has_value()) << to_string(test.result.error());
  }
}

// One wrong bit anywhere must be noticed.
TEST(SelfTest, WrongDigest_NamesDeviceAndDigest) {
  const auto cpu = make_cpu_engine();
  for (std::size_t wrong = 0; wrong < 12; ++wrong) {
    const Status status = self_test(
        "Lying GPU", HashAlgorithm::kSha256,
        [&](std::span<const Region> regions, const HashRequest& request) {
          auto digests = cpu->hash(regions, request);
          Bytes bytes((*digests)[wrong].root.bytes().begin(), (*digests)[wrong].root.bytes().end());
          bytes[wrong] ^= 1;
          (*digests)[wrong].root = Digest::wrap(HashAlgorithm::kSha256, bytes.data());
          return digests;
        });
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().code, ErrorCode::kDeviceSelfTestFailed);
    EXPECT_NE(status.error().detail.find("Lying GPU"), std::string::npos);
  }
}

// A device that stops long loops hashes everything right but the longest chunks.
TEST(SelfTest, WrongOnlyInTheLongestChunk_IsNoticed) {
  const auto cpu = make_cpu_engine();
  for (const HashAlgorithm algorithm : {HashAlgorithm::kSha256, HashAlgorithm::kSha384}) {
    const Status status =
        self_test("d", algorithm, [&](std::span<const Region> regions, const HashRequest& request) {
          auto digests = cpu->hash(regions, request);
          for (std::size_t i = 0; i < regions.size(); ++i) {
            const std::uint64_t leaf =
                std::min<std::uint64_t>(*region_size(regions[i]), request.parameters.chunk_size);
            if (leaf > kMaxChunkSize / 2) {
              (*digests)[i].root = (*digests)[0].root;
            }
          }
          return digests;
        });
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().code, ErrorCode::kDeviceSelfTestFailed);
    EXPECT_NE(status.error().detail.find("1048575 bytes"), std::string::npos);
  }
}

TEST(SelfTest, MissingDigests_AreNoticed) {
  const Status status =
      self_test("d", HashAlgorithm::kSha384, [](std::span<const Region>, const HashRequest&) {
        return Result<std::vector<ObjectDigests>>();
      });
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, ErrorCode::kDeviceSelfTestFailed);
}

TEST(BenchDevice, IntegerOperations_AreThoseOfTheBlocksOfAChunk) {
  EXPECT_EQ(integer_operations(HashAlgorithm::kSha256, 16384), 257U * 1040);
  EXPECT_EQ(integer_operations(HashAlgorithm::kSha384, 16384), 129U * 2656);
  // Prefix, 54 bytes, end and length fill a block of SHA-256; a byte more needs another one.
  EXPECT_EQ(integer_operations(HashAlgorithm::kSha256, 54), 1040U);
  EXPECT_EQ(integer_operations(HashAlgorithm::kSha256, 55), 2U * 1040);
  EXPECT_EQ(integer_operations(HashAlgorithm::kSha384, 110), 2656U);
  EXPECT_EQ(integer_operations(HashAlgorithm::kSha384, 111), 2U * 2656);
}

// Every figure has a rate, a limit that was measured, and words for it.
void expect_figures(const BenchResult& result, const std::vector<std::string>& names) {
  std::vector<std::string> got;
  for (const BenchFigure& figure : result.figures) {
    got.push_back(figure.name);
    EXPECT_GT(figure.rate, 0) << figure.name;
    EXPECT_GT(figure.limit, 0) << figure.name;
    EXPECT_DOUBLE_EQ(figure.fraction(), figure.rate / figure.limit) << figure.name;
    EXPECT_FALSE(figure.limit_is.empty()) << figure.name;
    EXPECT_LE(figure.limit, result.limits.memory_read) << figure.name;
  }
  EXPECT_EQ(got, names);
}

TEST(BenchDevice, Cpu_GivesRatesAndLimits) {
  const auto result = bench_device(drivers_in_this_process(), *parse_device("cpu"),
                                   HashAlgorithm::kSha256, 4U << 20);
  ASSERT_TRUE(result.has_value());
  expect_figures(*result, {"resident", "streamed"});
  EXPECT_LE(result->figures[0].limit, result->limits.cached_hash);
  EXPECT_GT(result->limits.openssl_streams, 0);
  EXPECT_EQ(result->hash, HashAlgorithm::kSha256);
  EXPECT_EQ(result->bytes, 4U << 20);
}

TEST(BenchDevice, OpenCl_GivesRatesAndLimits) {
  if (list_opencl_devices().devices.empty()) {
    GTEST_SKIP() << "no OpenCL device";
  }
  const auto result = bench_device(drivers_in_this_process(), *parse_device("opencl"),
                                   HashAlgorithm::kSha384, 16U << 20);
  ASSERT_TRUE(result.has_value()) << to_string(result.error());
  expect_figures(*result, {"resident", "tagged", "tags", "streamed"});
  const double computing =
      result->limits.integer_operations /
      static_cast<double>(integer_operations(HashAlgorithm::kSha384, kDefaultChunkSize)) *
      kDefaultChunkSize;
  EXPECT_DOUBLE_EQ(result->figures[0].limit, std::min(computing, result->limits.memory_read));
  EXPECT_DOUBLE_EQ(result->figures[2].limit, result->limits.memory_read);
  EXPECT_LE(result->figures[3].limit, result->limits.pinned_copy);
  EXPECT_FALSE(result->variant.empty());
}

}  // namespace
}  // namespace assay::gpu_hash::test
