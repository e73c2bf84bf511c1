// SPDX-License-Identifier: Apache-2.0
// Time never goes back, whatever the wall clock does.
#include "server/service/held_clock.h"

#include <gtest/gtest.h>

#include "tests/support/manual_clock.h"

namespace assay::server {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

struct HeldClockTest : testing::Test {
  // Both clocks go on.
  void pass(milliseconds time) {
    wall.advance(time);
    steady += time;
  }
  ManualClock wall;
  milliseconds steady{5000};
  HeldClock clock{wall, [this] { return steady; }};
};

TEST_F(HeldClockTest, IsTheWallClockAsLongAsThatGoesOn) {
  const Timestamp start = wall.now();
  EXPECT_EQ(clock.now(), start);
  pass(seconds(10));
  EXPECT_EQ(clock.now(), start + seconds(10));
  wall.advance(hours(1));
  EXPECT_EQ(clock.now(), start + seconds(10) + hours(1)) << "set forward";
  EXPECT_EQ(clock.lead(), milliseconds(0));
}

TEST_F(HeldClockTest, SetBack_TimeGoesOnAtTheSteadyPace) {
  const Timestamp start = clock.now();
  wall.advance(-hours(1));
  EXPECT_EQ(clock.now(), start);
  EXPECT_EQ(clock.lead(), hours(1));
  pass(seconds(60));
  EXPECT_EQ(clock.now(), start + seconds(60));
  // Set right again: no jump.
  wall.advance(hours(1));
  EXPECT_EQ(clock.now(), start + seconds(60));
  EXPECT_EQ(clock.lead(), milliseconds(0));
}

TEST_F(HeldClockTest, HeldTime_IsTheLeast) {
  const Timestamp newest = wall.now() + hours(2);
  clock.hold(newest);
  EXPECT_EQ(clock.now(), newest);
  pass(seconds(5));
  EXPECT_EQ(clock.now(), newest + seconds(5));
  clock.hold(newest - hours(1));
  EXPECT_EQ(clock.now(), newest + seconds(5)) << "an older one changes nothing";
  pass(hours(2));
  EXPECT_EQ(clock.lead(), hours(2)) << "both go on alike";
}

}  // namespace
}  // namespace assay::server
