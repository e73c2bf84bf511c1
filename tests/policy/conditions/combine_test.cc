// SPDX-License-Identifier: Apache-2.0
// Truth tables of the combined conditions, exhaustively, against the definition: pass or fail only
// when it is that for every way the undecided parts could turn out.
#include "policy/conditions/combine.h"

#include <gtest/gtest.h>

#include "tests/policy/fixture.h"

namespace assay::policy::test {
namespace {

constexpr std::size_t kMaxParts = 5;

// Every list of up to kMaxParts outcomes.
std::vector<std::vector<Outcome>> all_lists() {
  std::vector<std::vector<Outcome>> lists = {{}};
  for (std::size_t i = 0; i < lists.size() && lists[i].size() < kMaxParts; ++i) {
    for (const Outcome outcome :
         {Outcome::kPass, Outcome::kFail, Outcome::kError, Outcome::kDeferred}) {
      std::vector<Outcome> longer = lists[i];
      longer.push_back(outcome);
      lists.push_back(std::move(longer));
    }
  }
  return lists;
}

// The definition of "at least `needed` of `parts`", by trying everything.
Outcome by_definition(std::size_t needed, const std::vector<Outcome>& parts) {
  bool can_pass = false;
  bool can_fail = false;
  bool error = false;
  for (std::uint32_t world = 0; world < 1U << parts.size(); ++world) {
    std::size_t passed = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const bool decided = parts[i] == Outcome::kPass || parts[i] == Outcome::kFail;
      const bool guess = (world >> i & 1U) != 0;
      passed += (decided ? parts[i] == Outcome::kPass : guess) ? 1U : 0U;
      error = error || parts[i] == Outcome::kError;
    }
    (passed >= needed ? can_pass : can_fail) = true;
  }
  if (can_pass && can_fail) {
    return error ? Outcome::kError : Outcome::kDeferred;
  }
  return can_pass ? Outcome::kPass : Outcome::kFail;
}

std::vector<ConditionResult> results(const std::vector<Outcome>& outcomes) {
  std::vector<ConditionResult> list;
  for (const Outcome outcome : outcomes) {
    list.push_back({"part", outcome, {}, nullptr, nullptr, {}, {}});
  }
  return list;
}

TEST(Combine, All_FollowsItsTruthTable) {
  for (const auto& parts : all_lists()) {
    EXPECT_EQ(combine_all(count(results(parts))), by_definition(parts.size(), parts))
        << testing::PrintToString(parts);
  }
}

TEST(Combine, Any_FollowsItsTruthTable) {
  for (const auto& parts : all_lists()) {
    EXPECT_EQ(combine_any(count(results(parts))), by_definition(1, parts))
        << testing::PrintToString(parts);
  }
}

TEST(Combine, AtLeast_FollowsItsTruthTable) {
  for (const auto& parts : all_lists()) {
    for (std::size_t needed = 0; needed <= kMaxParts + 1; ++needed) {
      EXPECT_EQ(combine_at_least(needed, count(results(parts))), by_definition(needed, parts))
          << needed << " of " << testing::PrintToString(parts);
    }
  }
}

TEST(Combine, Not_SwapsOnlyWhatIsDecided) {
  EXPECT_EQ(negate(Outcome::kPass), Outcome::kFail);
  EXPECT_EQ(negate(Outcome::kFail), Outcome::kPass);
  EXPECT_EQ(negate(Outcome::kError), Outcome::kError);
  EXPECT_EQ(negate(Outcome::kDeferred), Outcome::kDeferred);
}

TEST(Combine, OfNothing_AllPassesAnyFails) {
  EXPECT_EQ(combine_all({}), Outcome::kPass);
  EXPECT_EQ(combine_any({}), Outcome::kFail);
}

TEST(Combine, ErrorNeverCountsAsPass) {
  EXPECT_EQ(combine_any(count(results({Outcome::kError, Outcome::kFail}))), Outcome::kError);
  EXPECT_EQ(combine_all(count(results({Outcome::kError, Outcome::kPass}))), Outcome::kError);
  EXPECT_EQ(combine_all(count(results({Outcome::kError, Outcome::kFail}))), Outcome::kFail);
}

}  // namespace
}  // namespace assay::policy::test
