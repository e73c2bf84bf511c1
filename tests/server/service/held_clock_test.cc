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

TEST_F(HeldClockTest, SetBackWhileRunning_AgesGrow_SoTimeIsKnown) {
  const Timestamp report = clock.now();
  wall.advance(-hours(24 * 365));
  EXPECT_TRUE(clock.is_known());
  pass(hours(1));
  EXPECT_EQ(clock.now() - report, hours(1)) << "a report grows older";
  EXPECT_TRUE(clock.is_known());
}

TEST_F(HeldClockTest, BehindTheLastWriteAtStart_IsNotKnown_UntilTheWallClockGetsThere) {
  clock.hold(wall.now() + seconds(10));
  EXPECT_FALSE(clock.is_known()) << "nobody knows how long it stood still";
  pass(seconds(4));
  EXPECT_FALSE(clock.is_known());
  pass(seconds(1));
  EXPECT_TRUE(clock.is_known()) << "within the tolerance";
  wall.advance(-hours(1));
  EXPECT_TRUE(clock.is_known()) << "from then on the steady clock tells";
}

TEST_F(HeldClockTest, LittleBehindAtStart_IsKnown) {
  clock.hold(wall.now() + HeldClock::kTolerance);
  EXPECT_TRUE(clock.is_known());
  clock.hold(wall.now() - hours(1));
  EXPECT_TRUE(clock.is_known());
}

// A clock that was years ahead when something was written.
TEST_F(HeldClockTest, YearsBehindTheLastWrite_IsNotKnown) {
  clock.hold(wall.now() + hours(24 * 3650));
  pass(hours(24 * 30));
  EXPECT_FALSE(clock.is_known());
  EXPECT_EQ(clock.lead(), hours(24 * 3650)) << "and it shows";
}

}  // namespace
}  // namespace assay::server
