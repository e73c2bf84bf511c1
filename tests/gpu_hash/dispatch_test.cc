// SPDX-License-Identifier: Apache-2.0
// Which engine a choice leads to, and the self-test that stands before it.
#include "gpu_hash/dispatch.h"

#include <gtest/gtest.h>

#include "gpu_hash/choose.h"
#include "gpu_hash/cl_engine.h"
#include "gpu_hash/cpu_engine.h"
#include "gpu_hash/device.h"
#include "gpu_hash/self_test.h"
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
}

TEST(ParseDevice, OtherText_IsUsage) {
  for (const char* text : {"", "gpu", "CPU", "opencl:", "cpu:0", "auto ", "opencl:99999999999"}) {
    const auto choice = parse_device(text);
    ASSERT_FALSE(choice.has_value()) << text;
    EXPECT_EQ(choice.error().code, ErrorCode::kUsage);
  }
}

TEST(ChooseDevice, Auto_TakesAGpuAndNeverACpuDevice) {
  EXPECT_EQ(choose("auto", {}), std::nullopt);
  EXPECT_EQ(choose("auto", {device("pocl", "cpu")}), std::nullopt);
  EXPECT_EQ(choose("auto", {device("H200", "gpu"), device("pocl", "cpu")}), 0U);
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

TEST(MakeEngine, Cpu_RunsOnTheCpu) {
  const auto engine = make_engine(*parse_device("cpu"));
  ASSERT_TRUE(engine.has_value());
  EXPECT_EQ((*engine)->info().id, "cpu");
}

TEST(MakeEngine, Auto_RunsOnTheCpuWithoutAGpu) {
  const auto devices = list_opencl_devices();
  const bool gpu = !devices.empty() && devices.front().type == "gpu";
  const auto engine = make_engine(*parse_device("auto"));
  ASSERT_TRUE(engine.has_value()) << to_string(engine.error());
  EXPECT_EQ((*engine)->info().id, gpu ? "opencl:0" : "cpu");
}

// On a machine, or in a build, without OpenCL.
TEST(MakeEngine, OpenClWithoutADevice_IsDeviceNotFoundAndSaysWhy) {
  if (!list_opencl_devices().empty()) {
    GTEST_SKIP() << "there is an OpenCL device";
  }
  const auto engine = make_engine(*parse_device("opencl"));
  ASSERT_FALSE(engine.has_value());
  EXPECT_EQ(engine.error().code, ErrorCode::kDeviceNotFound);
  EXPECT_NE(engine.error().detail.find("OpenCL"), std::string::npos);
}

TEST(ListDevices, CpuIsFirstAndGpusLeadTheRest) {
  const auto devices = list_devices();
  ASSERT_TRUE(devices.has_value());
  ASSERT_FALSE(devices->empty());
  EXPECT_EQ(devices->front().id, "cpu");
  for (std::size_t i = 1; i < devices->size(); ++i) {
    EXPECT_EQ((*devices)[i].id, "opencl:" + std::to_string(i - 1));
    EXPECT_FALSE((*devices)[i].type == "gpu" && (*devices)[i - 1].type == "cpu" && i > 1);
  }
}

TEST(SelfTestDevices, EveryDevicePasses) {
  const auto results = self_test_devices();
  ASSERT_TRUE(results.has_value());
  for (const SelfTest& test : *results) {
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

TEST(SelfTest, MissingDigests_AreNoticed) {
  const Status status =
      self_test("d", HashAlgorithm::kSha384, [](std::span<const Region>, const HashRequest&) {
        return Result<std::vector<ObjectDigests>>();
      });
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, ErrorCode::kDeviceSelfTestFailed);
}

TEST(BenchDevice, Cpu_GivesRatesAndLimits) {
  const auto result = bench_device(*parse_device("cpu"), HashAlgorithm::kSha256, 4U << 20);
  ASSERT_TRUE(result.has_value());
  EXPECT_GT(result->resident, 0);
  EXPECT_GT(result->resident_copy, 0);
  EXPECT_EQ(result->bytes, 4U << 20);
}

TEST(BenchDevice, OpenCl_GivesRatesAndLimits) {
  if (list_opencl_devices().empty()) {
    GTEST_SKIP() << "no OpenCL device";
  }
  const auto result = bench_device(*parse_device("opencl"), HashAlgorithm::kSha384, 16U << 20);
  ASSERT_TRUE(result.has_value()) << to_string(result.error());
  EXPECT_GT(result->resident, 0);
  EXPECT_GT(result->resident_copy, 0);
  EXPECT_GT(result->streamed, 0);
  EXPECT_GT(result->streamed_copy, 0);
}

}  // namespace
}  // namespace assay::gpu_hash::test
