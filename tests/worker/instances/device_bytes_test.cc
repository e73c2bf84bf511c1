// SPDX-License-Identifier: Apache-2.0
// What the driver says of processes: through a library that is opened as NVML is, and summed up.
#include "worker/instances/device_bytes.h"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "tests/worker/instances/fake_driver.h"
#include "worker/instances/nvml.h"

namespace assay::worker::test {
namespace {

class NvmlTest : public testing::Test {
 protected:
  void SetUp() override {
    says("");
    fails("");
  }
  void says(const std::string& text) { ::setenv("ASSAY_NVML_SAYS", text.c_str(), 1); }
  void fails(const std::string& text) { ::setenv("ASSAY_NVML_FAILS", text.c_str(), 1); }
  Nvml nvml_{ASSAY_FAKE_NVML};
};

TEST_F(NvmlTest, ProcessesOfAllDevices_AreListed) {
  says("GPU-a=17:4096,18:?;GPU-b=;GPU-c=17:9007199254740993");
  const auto listed = nvml_.processes();
  ASSERT_TRUE(listed) << listed.error().detail;
  EXPECT_EQ(*listed, (std::vector<DeviceProcess>{
                         {"GPU-a", 17, 4096}, {"GPU-a", 18, {}}, {"GPU-c", 17, 9007199254740993}}));
  says("GPU-a=");
  EXPECT_EQ(nvml_.processes().value(), std::vector<DeviceProcess>{});
}

TEST_F(NvmlTest, ManyProcesses_AreAllListed) {
  std::string text = "GPU-a=1:1";
  for (int i = 2; i <= 1000; ++i) {
    text += "," + std::to_string(i) + ":1";
  }
  says(text);
  EXPECT_EQ(nvml_.processes().value().size(), 1000U);
}

TEST_F(NvmlTest, EachFunctionThatFails_IsAnError) {
  says("GPU-a=17:4096");
  for (const char* function : {"init", "count", "handle", "uuid", "processes"}) {
    Nvml nvml(ASSAY_FAKE_NVML);
    fails(function);
    const auto listed = nvml.processes();
    ASSERT_FALSE(listed) << function;
    EXPECT_EQ(listed.error().code, ErrorCode::kDeviceFailed);
    fails("");
    EXPECT_TRUE(nvml.processes()) << "and asked again";
  }
  fails("more");
  EXPECT_EQ(nvml_.processes().error().code, ErrorCode::kLimitExceeded);
}

TEST_F(NvmlTest, WithoutItsLibrary_ThereIsNoDriver) {
  EXPECT_EQ(Nvml("/nowhere/libnvidia-ml.so.1").processes().error().code,
            ErrorCode::kDeviceNotFound);
  EXPECT_EQ(Nvml("libm.so.6").processes().error().code, ErrorCode::kDeviceNotFound);
}

// --- the sum

TEST(DeviceBytes, OfEachProcess_OnAllDevices) {
  FakeDriver driver({{"GPU-a", 1, 10}, {"GPU-b", 1, 5}, {"GPU-b", 2, 7}, {"GPU-b", 3, {}}});
  const RegisteredProcess first{1, "GPU-a"};
  const RegisteredProcess second{2, "GPU-b"};
  EXPECT_EQ(device_bytes_of({{first}}, driver), 15U);
  EXPECT_EQ(device_bytes_of({{first, second}}, driver), 22U);
  EXPECT_EQ(device_bytes_of({{first, {1, "GPU-b"}}}, driver), 15U);  // two ranks of one process
  EXPECT_EQ(device_bytes_of({{first, {2, ""}}}, driver), 22U);
}

TEST(DeviceBytes, ThatTheDriverDoesNotSay_AreNotKnown) {
  FakeDriver driver({{"GPU-a", 1, 10}, {"GPU-a", 3, {}}});
  EXPECT_EQ(device_bytes_of({}, driver), std::nullopt);
  EXPECT_EQ(device_bytes_of({{{1, ""}}}, driver), std::nullopt);       // memory of the host
  EXPECT_EQ(device_bytes_of({{{1, "GPU-b"}}}, driver), std::nullopt);  // not on that device
  EXPECT_EQ(device_bytes_of({{{2, "GPU-a"}}}, driver), std::nullopt);
  EXPECT_EQ(device_bytes_of({{{3, "GPU-a"}}}, driver), std::nullopt);
  EXPECT_EQ(device_bytes_of({{{1, "GPU-a"}, {3, ""}}}, driver), std::nullopt);
  driver.list = fail(ErrorCode::kDeviceFailed, "");
  EXPECT_EQ(device_bytes_of({{{1, "GPU-a"}}}, driver), std::nullopt);
  driver.list = {{"GPU-a", 1, ~std::uint64_t{0} - 1}, {"GPU-a", 1, 3}};
  EXPECT_EQ(device_bytes_of({{{1, "GPU-a"}}}, driver), std::nullopt);
}

}  // namespace
}  // namespace assay::worker::test
