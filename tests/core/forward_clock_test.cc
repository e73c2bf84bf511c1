// SPDX-License-Identifier: Apache-2.0
// Time goes on whatever happens to the wall clock.
#include "schemas/core/forward_clock.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;

class SettableClock final : public Clock {
 public:
  [[nodiscard]] Timestamp now() const override { return time; }
  Timestamp time = Timestamp(hours(500'000));
};

class ForwardClockTest : public testing::Test {
 protected:
  SettableClock wall_;
  milliseconds elapsed_{12'345};
  ForwardClock clock_{wall_, [this] { return elapsed_; }};
};

TEST_F(ForwardClockTest, GoesWithTheWallClock) {
  wall_.time += hours(1);
  EXPECT_EQ(clock_.now(), wall_.time);
  EXPECT_EQ(clock_.lag(), milliseconds(0));
}

TEST_F(ForwardClockTest, SetBack_GoesOnByTheMonotonicClock) {
  const Timestamp begin = clock_.now();
  wall_.time -= hours(1);
  EXPECT_EQ(clock_.now(), begin);
  elapsed_ += minutes(5);
  wall_.time += minutes(5);
  EXPECT_EQ(clock_.now(), begin + minutes(5));
  EXPECT_EQ(clock_.lag(), hours(1));
  // The machine slept: the wall clock caught up, and leads again.
  wall_.time += hours(2);
  EXPECT_EQ(clock_.now(), wall_.time);
  EXPECT_EQ(clock_.lag(), milliseconds(0));
}

TEST_F(ForwardClockTest, SmallSteps_AddUp) {
  const Timestamp begin = clock_.now();
  wall_.time -= hours(1);
  for (int i = 0; i < 1000; ++i) {
    elapsed_ += milliseconds(1);
    EXPECT_EQ(clock_.now(), begin + milliseconds(i + 1));
  }
}

TEST_F(ForwardClockTest, MonotonicClockThatJumpsBack_DoesNotMatter) {
  const Timestamp begin = clock_.now();
  elapsed_ -= minutes(1);
  EXPECT_EQ(clock_.now(), begin);
}

TEST_F(ForwardClockTest, NotBefore_WhatWasWrittenEarlier) {
  const Timestamp known = wall_.time + hours(3);
  clock_.not_before(known);
  EXPECT_EQ(clock_.now(), known);
  EXPECT_EQ(clock_.lag(), hours(3));
  elapsed_ += minutes(1);
  EXPECT_EQ(clock_.now(), known + minutes(1));
  clock_.not_before(known - hours(1));
  EXPECT_EQ(clock_.now(), known + minutes(1));
}

}  // namespace
}  // namespace assay
