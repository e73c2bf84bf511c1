// SPDX-License-Identifier: Apache-2.0
// When slices run: pure arithmetic over times that are handed in.
#include "worker/instances/schedule.h"

#include <algorithm>
#include <set>
#include <span>

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
  EXPECT_EQ(schedule.when(WatchHints{true, at(1'000'000)}, at(520), milliseconds(5)), at(520));
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
  EXPECT_TRUE(check(WatchPlan{.period = milliseconds(60'000)}));
  EXPECT_FALSE(check(WatchPlan{.period = milliseconds(60'001)}));
  EXPECT_FALSE(check(WatchPlan{.slices = 0}));
  EXPECT_FALSE(check(WatchPlan{.slices = 201}));
  EXPECT_FALSE(check(WatchPlan{.redrawn = 15}));
  EXPECT_FALSE(check(WatchPlan{.full = milliseconds(1'999)}));
  EXPECT_FALSE(check(WatchPlan{.full = std::chrono::hours(7 * 24 + 1)}));
}

TEST(Schedule, ASharePerPeriod_IsBoundedByTheTimeForAllOfIt) {
  const auto random = [](int period_ms, unsigned share) {
    return WatchPlan{
        .period = milliseconds(period_ms), .check = WatchCheck::kRandom, .share = share};
  };
  EXPECT_EQ(cycle(WatchPlan{}), milliseconds(2'000));
  EXPECT_EQ(cycle(random(2'000, 30)), milliseconds(8'000));
  EXPECT_TRUE(check(random(2'000, 4)));  // 50 s for all of it
  EXPECT_FALSE(check(random(2'000, 3)));
  EXPECT_FALSE(check(random(2'000, 0)));
  EXPECT_FALSE(check(random(2'000, 100)));
  EXPECT_FALSE(check(WatchPlan{.share = 99}));
  EXPECT_FALSE(check(WatchPlan{.check = WatchCheck::kSha256, .share = 99}));
  WatchPlan one = random(2'000, 50);
  one.slices = 1;
  EXPECT_FALSE(check(one));
}

// --- slices at a moment that the process chose

TEST(Schedule, APeriodIsOpenAtItsBeginning_AndHasEachSliceOnce) {
  Schedule schedule({}, 4, kStart);
  EXPECT_EQ(schedule.open(), at(-250));
  for (int i = 0; i < 4; ++i) {
    EXPECT_LE(schedule.open(), at(10 * i));
    schedule.began(at(10 * i));
    schedule.done(at(10 * i + 5));
  }
  EXPECT_EQ(schedule.open(), at(1'750));
}

TEST(Schedule, TheRestOfAPeriod_IsAllThatIsLeftOfIt) {
  Schedule schedule({}, 4, kStart);
  schedule.done(at(0));
  const std::vector<Schedule::Turn> rest = schedule.rest();
  ASSERT_EQ(rest.size(), 3U);
  for (const Schedule::Turn& turn : rest) {
    const Schedule::Turn next = schedule.next();
    EXPECT_EQ(turn.slice, next.slice);
    EXPECT_EQ(turn.nominal, next.nominal);
    EXPECT_EQ(turn.redraw, next.redraw);
    EXPECT_EQ(turn.complete, next.complete);
    schedule.done(next.nominal);
  }
  EXPECT_TRUE(rest.back().redraw && rest.back().complete);
  EXPECT_EQ(schedule.rest().size(), 4U);
}

// The slices behind the last one of a pack are not known before they are shuffled.
TEST(Schedule, TheRestOfAPeriod_EndsWithThePack) {
  WatchPlan plan{.check = WatchCheck::kRandom, .share = 50};
  Schedule schedule(plan, 5, kStart, [](std::size_t bound) { return bound - 1; });
  EXPECT_EQ(schedule.rest().size(), 3U);  // of 50 percent
  for (int i = 0; i < 3; ++i) {
    schedule.done(at(0));
  }
  EXPECT_EQ(schedule.rest().size(), 2U);
  EXPECT_TRUE(schedule.rest().back().complete);
}

// What ran early is looked at again a period and one part later at the latest: hints move slices,
// and no deadline.
TEST(Schedule, AfterAnEarlyLook_TheNextOneIsInTime) {
  Schedule schedule({}, 4, kStart);
  for (int i = 0; i < 4; ++i) {
    schedule.began(at(10));
    schedule.done(at(15));
  }
  for (int i = 0; i < 4; ++i) {
    const Schedule::Turn turn = schedule.next();
    EXPECT_EQ(turn.slice, static_cast<unsigned>(i));
    EXPECT_EQ(turn.deadline, i == 0 ? at(2'250) : at(2'510)) << i;
    schedule.began(turn.nominal);
    schedule.done(turn.nominal);
  }
  // From then on the slices spread again.
  EXPECT_EQ(schedule.next().nominal, at(4'000));
  schedule.done(at(4'000));
  EXPECT_EQ(schedule.next().nominal, at(4'500));
}

TEST(SliceLengths, AreThoseOfSlicesThatNothingDisturbed) {
  Schedule::Turn turn = Schedule({}, 4, kStart).next();
  SliceLengths lengths;
  EXPECT_EQ(lengths.of(turn), Steady::duration());
  lengths.note(0, milliseconds(3));
  lengths.note(0, milliseconds(10));  // beside a step
  lengths.note(1, milliseconds(5));
  EXPECT_EQ(lengths.of(turn), milliseconds(3));
  turn.slice = 2;
  EXPECT_EQ(lengths.of(turn), milliseconds(5));
}

// --- random subsets

TEST(Schedule, SlicesThatAreDrawn_AreDealtFromAPack) {
  const WatchPlan plan{.check = WatchCheck::kRandom, .share = 25};
  std::size_t drawn = 0;
  Schedule schedule(plan, 8, kStart, [&drawn](std::size_t bound) {
    ++drawn;
    return bound / 2;
  });
  EXPECT_EQ(drawn, 7U);
  std::vector<unsigned> order;
  for (int pack = 0; pack < 2; ++pack) {
    std::set<unsigned> seen;
    for (int i = 0; i < 8; ++i) {
      const Schedule::Turn turn = schedule.next();
      EXPECT_EQ(turn.nominal, at(8'000 * pack + 1'000 * i));  // two of them in each period
      EXPECT_EQ(turn.redraw, i % 2 == 1);
      EXPECT_EQ(turn.complete, i == 7);
      seen.insert(turn.slice);
      order.push_back(turn.slice);
      schedule.done(turn.nominal);
    }
    EXPECT_EQ(seen.size(), 8U);
  }
  EXPECT_EQ(drawn, 21U);
  EXPECT_FALSE(std::ranges::is_sorted(order.begin(), order.begin() + 8));
  EXPECT_FALSE(std::ranges::equal(std::span(order).first(8), std::span(order).last(8)));
}

}  // namespace
}  // namespace assay::worker
