// SPDX-License-Identifier: Apache-2.0
// The engine goes when nobody uses it, and comes again.
#include "worker/engine_on_demand.h"

#include <gtest/gtest.h>

#include "gpu_hash/dispatch.h"

namespace assay::worker {
namespace {

constexpr std::string_view kUuid = "GPU-5f1d0c52-6a3c-4a7e-9d0e-0b8f3a5d2c11";

// Has a UUID, and says when it is asked.
class Device final : public gpu_hash::Engine {
 public:
  explicit Device(int& alive) : alive_(alive) {
    ++alive_;
    info_.id = "opencl:0";
    info_.uuid = kUuid;
  }
  ~Device() override { --alive_; }
  [[nodiscard]] const gpu_hash::EngineInfo& info() const override { return info_; }
  [[nodiscard]] Result<std::vector<gpu_hash::ObjectDigests>> hash(
      std::span<const gpu_hash::Region>, const gpu_hash::HashRequest&) override {
    return std::vector<gpu_hash::ObjectDigests>();
  }

 private:
  int& alive_;
  gpu_hash::EngineInfo info_;
};

TEST(EngineOnDemand, IsGivenUpWhenNobodyUsesIt_AndComesAgain) {
  int made = 0;
  int alive = 0;
  bool broken = false;
  const auto engine = EngineOnDemand::create(
                          [&]() -> Result<std::unique_ptr<gpu_hash::Engine>> {
                            if (broken) {
                              return fail(ErrorCode::kDeviceNotFound, "gone");
                            }
                            ++made;
                            return std::make_unique<Device>(alive);
                          },
                          std::chrono::milliseconds(20))
                          .value();
  const auto await_rest = [&] {
    while (engine->is_awake()) {
      std::this_thread::yield();
    }
    EXPECT_EQ(alive, 0);
  };
  EXPECT_EQ(engine->info().id, "opencl:0");
  await_rest();
  EXPECT_TRUE(engine->hash({}, {}));
  EXPECT_EQ(made, 2);
  await_rest();
  gpu_hash::Engine* const device = engine->of_device(kUuid);
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(device->info().id, "opencl:0");
  EXPECT_EQ(device->hash({}, {}).error().code, ErrorCode::kInvalidParameter);
  EXPECT_EQ(engine->of_device("GPU-other"), nullptr);
  await_rest();
  EXPECT_EQ(made, 3);
  EXPECT_EQ(engine->of_device(kUuid), device);
  EXPECT_EQ(made, 3);  // known without the engine
  broken = true;
  EXPECT_EQ(engine->hash({}, {}).error().code, ErrorCode::kDeviceNotFound);
}

TEST(EngineOnDemand, WithoutAnEngineNow_ThereIsNone) {
  const auto engine = EngineOnDemand::create([]() -> Result<std::unique_ptr<gpu_hash::Engine>> {
    return fail(ErrorCode::kDeviceNotFound, "none");
  });
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().code, ErrorCode::kDeviceNotFound);
}

}  // namespace
}  // namespace assay::worker
