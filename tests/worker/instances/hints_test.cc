// SPDX-License-Identifier: Apache-2.0
// What a page of hints says, what is no hint, and what a look at it costs.
#include "worker/instances/hints.h"

#include <cstdio>

#include <gtest/gtest.h>

#include "tests/worker/instances/fake_owner.h"

namespace assay::worker {
namespace {

using std::chrono::seconds;

const Steady::time_point kNow{std::chrono::hours(5)};

std::uint64_t ns(Steady::time_point time) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(time.time_since_epoch()).count());
}
HintWords words(std::uint64_t begun, std::uint64_t ended, std::uint64_t idle_until = 0) {
  return {kHintsMagic, kHintsVersion, begun, ended, idle_until};
}

TEST(Hints, SayWhetherAStepRuns_AndHowLongNoneBegins) {
  EXPECT_EQ(hints_of(words(1, 0), kNow), (WatchHints{true, {}}));
  EXPECT_EQ(hints_of(words(7, 7), kNow), WatchHints{});
  EXPECT_EQ(hints_of(words(7, 7, ns(kNow + seconds(1))), kNow),
            (WatchHints{false, kNow + seconds(1)}));
  EXPECT_EQ(hints_of(words(0, 0, ns(kNow + seconds(1))), kNow),
            (WatchHints{false, kNow + seconds(1)}));
  EXPECT_EQ(hints_of(words(7, 7, ns(kNow - seconds(1))), kNow), WatchHints{});  // it is over
  // Words of two moments: a step has begun since.
  EXPECT_EQ(hints_of(words(8, 7, ns(kNow + seconds(1))), kNow), (WatchHints{true, {}}));
}

TEST(Hints, WhatCannotBe_IsNoHint) {
  EXPECT_EQ(hints_of(words(0, 0), kNow), std::nullopt);  // nothing was said
  EXPECT_EQ(hints_of(words(1, 2), kNow), std::nullopt);
  EXPECT_EQ(hints_of(words(2'000, 2), kNow), std::nullopt);
  EXPECT_EQ(hints_of(words(~std::uint64_t{0}, 0), kNow), std::nullopt);
  EXPECT_EQ(hints_of(words(1, 1, ns(kNow + seconds(3'601))), kNow), std::nullopt);
  EXPECT_EQ(hints_of(words(1, 1, ~std::uint64_t{0}), kNow), std::nullopt);
  HintWords other = words(1, 1);
  other.magic ^= 1;
  EXPECT_EQ(hints_of(other, kNow), std::nullopt);
  other = words(1, 1);
  other.version = 2;
  EXPECT_EQ(hints_of(other, kNow), std::nullopt);
}

TEST(Hints, OfSeveralProcesses_AreThoseOfTheBusiest) {
  std::optional<WatchHints> sum;
  join_hints(sum, {false, kNow + seconds(2)});
  EXPECT_EQ(sum, (WatchHints{false, kNow + seconds(2)}));
  join_hints(sum, {false, kNow + seconds(1)});
  EXPECT_EQ(sum, (WatchHints{false, kNow + seconds(1)}));
  join_hints(sum, {false, {}});
  EXPECT_EQ(sum, WatchHints{});
  join_hints(sum, {true, {}});
  join_hints(sum, {false, kNow + seconds(2)});
  EXPECT_EQ(sum, (WatchHints{true, {}}));
}

TEST(Hints, LooksTakeAPercentOfACore) {
  using std::chrono::microseconds;
  EXPECT_EQ(pace_of(microseconds(200), 10), microseconds(2'000));
  EXPECT_EQ(pace_of(microseconds(1), 10), kShortestPace);
  EXPECT_EQ(pace_of(microseconds(10'000), 10), kLongestPace);
  EXPECT_EQ(pace_of(microseconds(0), 0), kShortestPace);
}

// The bound is loose: what is meant is that a look makes no system call.
TEST(Hints, ALookCostsLittle) {
  test::FakeOwner owner(ArtifactId(Digest::wrap(HashAlgorithm::kSha256, Bytes(32).data())));
  std::uint64_t* const page = owner.share_hints();
  page[2] = 5;
  page[3] = 5;
  const auto hints = owner.hints();
  constexpr int kLooks = 100'000;
  int seen = 0;
  const Steady::time_point begin = Steady::now();
  for (int i = 0; i < kLooks; ++i) {
    seen += hints->read(kNow).has_value() ? 1 : 0;
  }
  const double each =
      std::chrono::duration<double, std::nano>(Steady::now() - begin).count() / kLooks;
  std::printf("a look at a page of hints: %.0f ns\n", each);
  EXPECT_EQ(seen, kLooks);
  EXPECT_LT(each, 20'000);
}

}  // namespace
}  // namespace assay::worker
