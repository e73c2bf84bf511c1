// SPDX-License-Identifier: Apache-2.0
// The newest release of a name: one chain, whose links need not all count.
#include "policy/releases.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tests/policy/fixture.h"
#include "tests/support/seed.h"

namespace assay::policy::test {
namespace {

using Releases = std::vector<ReleaseLink>;

StatementId id(std::uint64_t number) { return statement_id(number); }
ReleaseLink first(std::uint64_t number, bool counts = true) { return {id(number), {}, counts}; }
ReleaseLink after(std::uint64_t before, std::uint64_t number, bool counts = true) {
  return {id(number), id(before), counts};
}

void expect_newest(const Releases& releases, std::uint64_t number) {
  const NewestRelease found = newest_release(releases);
  EXPECT_FALSE(found.fork);
  EXPECT_EQ(found.id, id(number));
}

void expect_fork(const Releases& releases, std::uint64_t one, std::uint64_t other) {
  const NewestRelease found = newest_release(releases);
  EXPECT_FALSE(found.id);
  const bool ascending = id(one) < id(other);
  EXPECT_EQ(found.fork, ascending ? std::pair(id(one), id(other)) : std::pair(id(other), id(one)));
}

TEST(Releases, EndOfTheChain_IsTheNewest) {
  expect_newest({first(1)}, 1);
  expect_newest({first(1), after(1, 2), after(2, 3)}, 3);
}

TEST(Releases, NothingThatCounts_IsNothing) {
  EXPECT_FALSE(newest_release({}).id);
  const Releases none = {first(1, false), after(1, 2, false)};
  EXPECT_FALSE(newest_release(none).id);
  EXPECT_FALSE(newest_release(none).fork);
}

TEST(Releases, TwoInOnePlace_AreAFork) {
  expect_fork({first(1), first(2)}, 1, 2);
  expect_fork({first(1), after(1, 2), after(1, 3)}, 2, 3);
  expect_fork({first(1), after(1, 2), after(1, 3), after(3, 4)}, 2, 3);
}

TEST(Releases, WithdrawnEnd_LeavesTheOneBefore) {
  expect_newest({first(1), after(1, 2, false)}, 1);
  expect_newest({first(1), after(1, 2), after(2, 3, false)}, 2);
}

TEST(Releases, ChainGoesOnThroughWhatDoesNotCount) {
  expect_newest({first(1, false), after(1, 2)}, 2);
  expect_newest({first(1), after(1, 2, false), after(2, 3)}, 3);
}

TEST(Releases, ForkOfWhichOneBranchDoesNotCount_IsNone) {
  expect_newest({first(1), after(1, 2), after(1, 3, false)}, 2);
  expect_newest({first(1), after(1, 2), after(1, 3, false), after(3, 4, false)}, 2);
  expect_newest({first(1), first(2, false)}, 1);
}

TEST(Releases, WhatFollowsAReleaseThatDoesNotCount_KeepsTheForkAlive) {
  expect_fork({first(1), after(1, 2), after(1, 3, false), after(3, 4)}, 2, 3);
}

TEST(Releases, UnknownReleaseBefore_IsAFirstOne) {
  expect_newest({after(9, 2)}, 2);
  expect_fork({first(1), after(9, 2)}, 1, 9);
}

TEST(Releases, RingOfReleases_IsNothing) {
  const Releases ring = {after(2, 1), after(1, 2)};
  EXPECT_FALSE(newest_release(ring).id);
  EXPECT_FALSE(newest_release(ring).fork);
}

// Written as the words of the header say it, without a map: for every pair.
NewestRelease slowly(const Releases& releases) {
  const auto link = [&](const StatementId& wanted) {
    return std::find_if(releases.begin(), releases.end(),
                        [&](const ReleaseLink& one) { return one.id == wanted; });
  };
  std::vector<StatementId> chain;
  for (const ReleaseLink& release : releases) {
    std::optional<StatementId> next = release.counts ? std::optional(release.id) : std::nullopt;
    while (next && std::find(chain.begin(), chain.end(), *next) == chain.end()) {
      chain.push_back(*next);
      const auto found = link(*next);
      next = found == releases.end() ? std::nullopt : found->supersedes;
    }
  }
  const auto before = [&](const StatementId& one) {
    const auto found = link(one);
    return found == releases.end() ? std::nullopt : found->supersedes;
  };
  NewestRelease result;
  for (const StatementId& one : chain) {
    bool followed = false;
    for (const StatementId& other : chain) {
      if (one < other && before(one) == before(other)) {
        return {{}, std::pair(one, other)};
      }
      followed = followed || before(other) == std::optional(one);
    }
    if (!followed) {
      result.id = one;
    }
  }
  return result;
}

TEST(Releases, RandomTrees_AreJudgedAsTheSlowRuleSays) {
  const std::uint64_t seed = random_test_seed();
  SCOPED_TRACE(test_seed_text(seed));
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  int newest = 0;
  int forks = 0;
  for (int round = 0; round < 3000; ++round) {
    Releases releases;
    const std::uint64_t count = 1 + below(7);
    for (std::uint64_t i = 0; i < count; ++i) {
      // Mostly a chain.
      const bool chained = i > 0 && below(8) != 0;
      const std::uint64_t before = below(8) == 0 ? below(i + 1) : i;
      releases.push_back(chained ? after(before, i + 1, below(4) != 0)
                                 : first(i + 1, below(3) != 0));
    }
    std::shuffle(releases.begin(), releases.end(), random);
    const NewestRelease fast = newest_release(releases);
    const NewestRelease slow = slowly(releases);
    ASSERT_EQ(fast.id, slow.id);
    ASSERT_EQ(fast.fork.has_value(), slow.fork.has_value());
    newest += fast.id ? 1 : 0;
    forks += fast.fork ? 1 : 0;
    // Withdrawing the newest never leaves a newer one, nor makes a fork.
    if (fast.id) {
      Releases without = releases;
      for (ReleaseLink& one : without) {
        one.counts = one.counts && one.id != *fast.id;
      }
      const NewestRelease left = newest_release(without);
      EXPECT_FALSE(left.fork);
      EXPECT_NE(left.id, fast.id);
    }
  }
  EXPECT_GT(newest, 100);
  EXPECT_GT(forks, 100);
}

}  // namespace
}  // namespace assay::policy::test
