// SPDX-License-Identifier: Apache-2.0
// How long --device auto measures, and what the measurement says.
#include <gtest/gtest.h>

#include "gpu_hash/choose/choose.h"
#include "gpu_hash/cpu_engine.h"
#include "schemas/core/sha.h"
#include "tests/gpu_hash/support.h"

namespace assay::gpu_hash::test {
namespace {

// An engine that takes the time its rate says, by a clock of its own.
class TimedEngine final : public Engine {
 public:
  // `overhead` is spent in each call, `setup` in the first one.
  TimedEngine(double bytes_per_second, double overhead, double setup)
      : rate_(bytes_per_second), overhead_(overhead), setup_(setup) {}

  [[nodiscard]] const EngineInfo& info() const override { return info_; }
  [[nodiscard]] Result<std::vector<ObjectDigests>> hash(std::span<const Region> regions,
                                                        const HashRequest& /*request*/) override {
    if (fail_) {
      return fail(ErrorCode::kDeviceFailed, "gone");
    }
    std::uint64_t bytes = 0;
    for (const Region& region : regions) {
      bytes += *region_size(region);
    }
    seconds_ += static_cast<double>(bytes) / rate_ + overhead_ + (calls_++ == 0 ? setup_ : 0);
    return std::vector<ObjectDigests>(regions.size(), ObjectDigests{sha256({}), {}});
  }
  [[nodiscard]] std::chrono::steady_clock::time_point now() const {
    return std::chrono::steady_clock::time_point(
        std::chrono::duration_cast<std::chrono::steady_clock::duration>(
            std::chrono::duration<double>(seconds_)));
  }
  [[nodiscard]] Result<double> measure() {
    return measure_rate(*this, [this] { return now(); });
  }
  [[nodiscard]] double seconds() const { return seconds_; }
  void break_down() { fail_ = true; }

 private:
  EngineInfo info_;
  double rate_;
  double overhead_;
  double setup_;
  double seconds_ = 0;
  int calls_ = 0;
  bool fail_ = false;
};

TEST(MeasureRate, AnyEngine_TakesAtMostThreeTenthsOfASecond) {
  for (const double rate : {5e7, 1e8, 3e8, 1e9, 7e9, 6e10, 1e12}) {
    TimedEngine engine(rate, 1e-5, 0);
    const auto measured = engine.measure();
    ASSERT_TRUE(measured.has_value());
    EXPECT_LE(engine.seconds(), 0.3) << rate;
    EXPECT_GT(*measured, 0) << rate;
    EXPECT_LE(*measured, rate * 1.001) << rate;
  }
}

TEST(MeasureRate, WhatIsDoneOnce_IsNotPartOfTheRate) {
  TimedEngine engine(1e9, 0, 5);
  EXPECT_NEAR(*engine.measure(), 1e9, 1e6);
  EXPECT_LE(engine.seconds(), 5.3);
}

// A fast device with much to do for each call is measured with enough data to show what it can.
TEST(MeasureRate, FastEngineWithSlowCalls_IsMeasuredWithLongPasses) {
  TimedEngine engine(50e9, 1e-3, 0.1);
  EXPECT_GT(*engine.measure(), 40e9);
}

TEST(MeasureRate, ErrorOfTheEngine_IsPassedOn) {
  TimedEngine engine(1e9, 0, 0);
  engine.break_down();
  const auto measured = engine.measure();
  ASSERT_FALSE(measured.has_value());
  EXPECT_EQ(measured.error().code, ErrorCode::kDeviceFailed);
}

TEST(MeasureRate, CpuEngine_HasARate) {
  const auto engine = make_cpu_engine(1);
  EXPECT_GT(*measure_rate(*engine), 1e6);
}

}  // namespace
}  // namespace assay::gpu_hash::test
