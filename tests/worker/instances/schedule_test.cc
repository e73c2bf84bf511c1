// SPDX-License-Identifier: Apache-2.0
// When slices run: pure arithmetic over times that are handed in.
#include "worker/instances/schedule.h"

#include <gtest/gtest.h>

namespace assay::worker {
namespace {

using std::chrono::milliseconds;

const Steady::time_point kStart{std::chrono::hours(5)};

Steady::time_point at(int ms) { return kStart + milliseconds(ms); }

TEST(Schedule, SlicesAreSpreadOverThePeriod_AndTheLastOneRedraws) {
  Schedule schedule({}, 4, kStart);
  for (int i = 0; i < 9; ++i) {
    const Schedule::Turn turn = schedule.next();
    EXPECT_EQ(turn.slice, static_cast<unsigned>(i % 4));
    EXPECT_EQ(turn.nominal, at(500 * i));
    EXPECT_EQ(turn.earliest, at(500 * i - 250));
    EXPECT_EQ(turn.deadline, at(500 * i + 250));
    EXPECT_EQ(turn.redraw, i % 4 == 3);
    schedule.done(at(500 * i + 10));
  }
}

TEST(Schedule, WithoutHints_ASliceRunsAtItsTime) {
  Schedule schedule({}, 4, kStart);
  schedule.done(at(0));
  EXPECT_EQ(schedule.when({}, at(10), {}), at(250));
  EXPECT_EQ(schedule.when({}, at(260), {}), at(500));
  EXPECT_EQ(schedule.when({}, at(510), {}), at(510));
}

TEST(Schedule, Idleness_PullsASliceForward_WhereItIsLongEnough) {
  Schedule schedule({}, 4, kStart);
  schedule.done(at(0));
  const WatchHints idle{false, at(300)};
  EXPECT_EQ(schedule.when(idle, at(260), milliseconds(40)), at(260));
  EXPECT_EQ(schedule.when(idle, at(260), milliseconds(41)), at(500));
  EXPECT_EQ(schedule.when(idle, at(10), milliseconds(1)), at(250));  // not before its time begins
}

TEST(Schedule, AStep_HoldsASliceUp_ButNeverBeyondItsDeadline) {
  Schedule schedule({}, 4, kStart);
  schedule.done(at(0));
  const WatchHints busy{true, {}};
  EXPECT_EQ(schedule.when(busy, at(510), {}), at(750));
  EXPECT_EQ(schedule.when(busy, at(750), {}), at(750));
  EXPECT_EQ(schedule.when(busy, at(900), {}), at(900));
  // Who always computes, and who says that it is idle for ever, gains nothing.
  EXPECT_EQ(schedule.when({true, at(1'000'000)}, at(520), milliseconds(5)), at(520));
}

TEST(Schedule, LateSlicesAreCounted_AndMissedPeriodsAreNotMadeUpFor) {
  Schedule schedule({}, 1, kStart);
  schedule.began(at(999));
  EXPECT_EQ(schedule.late(), 0U);
  schedule.began(at(1001));
  EXPECT_EQ(schedule.late(), 1U);
  schedule.done(at(9000));
  EXPECT_EQ(schedule.next().nominal, at(9000));
  schedule.done(at(9100));
  EXPECT_EQ(schedule.next().nominal, at(11000));
}

TEST(Schedule, FullPassesAreDueAfterTheirTime) {
  WatchPlan plan;
  plan.full = milliseconds(10'000);
  const Schedule schedule(plan, 4, kStart);
  EXPECT_FALSE(schedule.full_pass_due(at(9'999)));
  EXPECT_TRUE(schedule.full_pass_due(at(10'000)));
}

TEST(Schedule, PlansHaveBounds) {
  EXPECT_TRUE(check(WatchPlan{}));
  EXPECT_FALSE(check(WatchPlan{.period = milliseconds(99)}));
  EXPECT_FALSE(check(WatchPlan{.period = milliseconds(3'600'001)}));
  EXPECT_FALSE(check(WatchPlan{.slices = 0}));
  EXPECT_FALSE(check(WatchPlan{.slices = 201}));
  EXPECT_FALSE(check(WatchPlan{.redrawn = 15}));
  EXPECT_FALSE(check(WatchPlan{.full = milliseconds(1'999)}));
}

}  // namespace
}  // namespace assay::worker
