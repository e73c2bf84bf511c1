// SPDX-License-Identifier: Apache-2.0
// Time never goes back, whatever the wall clock does.
#include "server/service/held_clock.h"

#include <gtest/gtest.h>

#include "tests/support/manual_clock.h"

namespace assay::server {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

struct HeldClockTest : testing::Test {
  // Both clocks go on.
  void pass(milliseconds time) {
    wall.advance(time);
    steady += time;
  }
  // As a store has it whose time was not ahead of the wall clock.
  void hold(Timestamp least) { clock.hold({least, least}); }
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
  hold(newest);
  EXPECT_EQ(clock.now(), newest);
  pass(seconds(5));
  EXPECT_EQ(clock.now(), newest + seconds(5));
  hold(newest - hours(1));
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
  hold(wall.now() + seconds(10));
  EXPECT_FALSE(clock.is_known()) << "nobody knows how long it stood still";
  pass(seconds(4));
  EXPECT_FALSE(clock.is_known());
  pass(seconds(1));
  EXPECT_TRUE(clock.is_known()) << "within the tolerance";
  wall.advance(-hours(1));
  EXPECT_TRUE(clock.is_known()) << "from then on the steady clock tells";
}

TEST_F(HeldClockTest, LittleBehindAtStart_IsKnown) {
  hold(wall.now() + HeldClock::kTolerance);
  EXPECT_TRUE(clock.is_known());
  hold(wall.now() - hours(1));
  EXPECT_TRUE(clock.is_known());
}

// A clock that was years ahead when something was written.
TEST_F(HeldClockTest, YearsBehindTheLastWrite_IsNotKnown) {
  hold(wall.now() + hours(24 * 3650));
  pass(hours(24 * 30));
  EXPECT_FALSE(clock.is_known());
  EXPECT_EQ(clock.lead(), hours(24 * 3650)) << "and it shows";
}

// It was ahead of the wall clock by an hour when something was written, ten minutes ago.
TEST_F(HeldClockTest, LeadGoesOn_WithoutAWait) {
  const Timestamp start = wall.now();
  clock.hold({start - minutes(10) + hours(1), start - minutes(10)});
  EXPECT_TRUE(clock.is_known());
  EXPECT_EQ(clock.now(), start + hours(1)) << "ten minutes have passed since";
  EXPECT_EQ(clock.wall(), start);
  pass(hours(3));
  EXPECT_EQ(clock.now(), start + hours(4)) << "also beyond that write";
}

TEST_F(HeldClockTest, LeadOfALongStandstill_GoesOn) {
  const Timestamp start = wall.now();
  clock.hold({start - hours(100) + hours(1), start - hours(100)});
  EXPECT_EQ(clock.now(), start + hours(1)) << "or what was written would be an hour younger";
}

TEST_F(HeldClockTest, BehindTheKeptWallClock_IsNotKnown_AndKeepsIt) {
  const Timestamp start = wall.now();
  const Timestamp kept = start + minutes(10);
  clock.hold({kept + hours(1), kept});
  EXPECT_FALSE(clock.is_known());
  EXPECT_EQ(clock.now(), kept + hours(1));
  EXPECT_EQ(clock.wall(), kept) << "the next start must not take it for right";
  pass(minutes(10) - HeldClock::kTolerance - milliseconds(1));
  EXPECT_FALSE(clock.is_known());
  EXPECT_EQ(clock.wall(), kept);
  pass(milliseconds(1));
  EXPECT_TRUE(clock.is_known());
  EXPECT_EQ(clock.wall(), wall.now());
}

// Set right after the start: what passed since that write has passed.
TEST_F(HeldClockTest, SetRightWhileNotKnown_TheLeadGoesOn) {
  const Timestamp written = wall.now() + hours(5);
  clock.hold({written + hours(1), written});
  EXPECT_FALSE(clock.is_known());
  wall.advance(hours(7));
  EXPECT_TRUE(clock.is_known());
  EXPECT_EQ(clock.now(), wall.now() + hours(1));
}

// The wall clock had been years behind when something was written, and is right now.
TEST_F(HeldClockTest, LeadOfYears_EndsWhenTheWallClockHasComeThere) {
  const Timestamp start = wall.now();
  clock.hold({start - hours(1), start - hours(24 * 3650)});
  EXPECT_TRUE(clock.is_known());
  EXPECT_EQ(clock.now(), start);
}

}  // namespace
}  // namespace assay::server
