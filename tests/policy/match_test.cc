// SPDX-License-Identifier: Apache-2.0
// Which workloads a policy selects.
#include <gtest/gtest.h>

#include "tests/policy/fixture.h"

namespace assay::policy::test {
namespace {

WorkloadMatch namespaces(std::vector<std::string> patterns) {
  return {std::move(patterns), {}, {}};
}

bool glob(std::string_view pattern, std::string_view text) {
  return matches(namespaces({std::string(pattern)}), Workload{std::string(text), {}, {}});
}

TEST(Match, EmptyMatch_MatchesEverything) {
  EXPECT_TRUE(matches({}, workload()));
  EXPECT_TRUE(matches({}, Workload{}));
}

TEST(Match, NamespaceWithoutStar_IsComparedWhole) {
  EXPECT_TRUE(glob("prod", "prod"));
  EXPECT_FALSE(glob("prod", "prod-eu"));
  EXPECT_FALSE(glob("prod", "xprod"));
  EXPECT_FALSE(glob("prod", "PROD"));
  EXPECT_FALSE(glob("prod", ""));
  EXPECT_TRUE(glob("", ""));
}

TEST(Match, Star_StandsForAnyCharacters) {
  EXPECT_TRUE(glob("*", ""));
  EXPECT_TRUE(glob("*", "anything"));
  EXPECT_TRUE(glob("prod-*", "prod-"));
  EXPECT_TRUE(glob("prod-*", "prod-eu"));
  EXPECT_FALSE(glob("prod-*", "prod"));
  EXPECT_TRUE(glob("*-eu", "prod-eu"));
  EXPECT_FALSE(glob("*-eu", "prod-eu1"));
  EXPECT_TRUE(glob("a*b*c", "a-b-b-c"));
  EXPECT_TRUE(glob("a**c", "ac"));
  EXPECT_FALSE(glob("a*b*c", "a-c-b"));
}

TEST(Match, StarThatGuessedWrong_TriesAgain) {
  EXPECT_TRUE(glob("*ab", "aab"));
  EXPECT_TRUE(glob("*aab*", "aaaab"));
  EXPECT_FALSE(glob("*aab", "aabaa"));
}

TEST(Match, OtherGlobCharacters_AreLiteral) {
  EXPECT_FALSE(glob("prod-?", "prod-1"));
  EXPECT_FALSE(glob("prod-[a-z]", "prod-a"));
  EXPECT_TRUE(glob("a.c", "a.c"));
  EXPECT_FALSE(glob("a.c", "abc"));
}

TEST(Match, ManyStarsOnLongText_StayCheap) {
  std::string pattern;
  for (int i = 0; i < 126; ++i) {
    pattern += "*a";
  }
  EXPECT_FALSE(glob(pattern + "b", std::string(253, 'a')));
}

TEST(Match, SeveralNamespaces_OneIsEnough) {
  const WorkloadMatch match = namespaces({"test", "prod-*"});
  EXPECT_TRUE(matches(match, workload()));
  EXPECT_FALSE(matches(match, Workload{"dev", {}, {}}));
}

TEST(Match, Labels_MustAllBeEqual) {
  WorkloadMatch match;
  match.labels = {{"app", "chat"}, {"tier", "gold"}};
  Workload one = workload();
  EXPECT_FALSE(matches(match, one));
  one.labels["tier"] = "gold";
  EXPECT_TRUE(matches(match, one));
  one.labels["tier"] = "golden";
  EXPECT_FALSE(matches(match, one));
}

TEST(Match, LabelWithEmptyValue_MustBePresent) {
  WorkloadMatch match;
  match.labels = {{"gated", ""}};
  Workload one = workload();
  EXPECT_FALSE(matches(match, one));
  one.labels["gated"] = "";
  EXPECT_TRUE(matches(match, one));
}

TEST(Match, Resources_OneIsEnough) {
  WorkloadMatch match;
  match.resources = {"amd.com/gpu", "nvidia.com/gpu"};
  EXPECT_TRUE(matches(match, workload()));
  match.resources = {"amd.com/gpu"};
  EXPECT_FALSE(matches(match, workload()));
  EXPECT_FALSE(matches(match, Workload{}));
}

TEST(Match, Parts_AreAnd) {
  WorkloadMatch match{{"prod-*"}, {{"app", "chat"}}, {"nvidia.com/gpu"}};
  EXPECT_TRUE(matches(match, workload()));
  for (int part = 0; part < 3; ++part) {
    Workload one = workload();
    if (part == 0) {
      one.name_space = "dev";
    } else if (part == 1) {
      one.labels.clear();
    } else {
      one.resources.clear();
    }
    EXPECT_FALSE(matches(match, one)) << part;
  }
}

TEST(Selected, EnforceOrWarnThatMatches_Selects) {
  PolicyDocument policy = valid_policy();
  EXPECT_TRUE(selected(std::vector{active(policy)}, workload()));
  policy.mode = PolicyMode::kWarn;
  EXPECT_TRUE(selected(std::vector{active(policy)}, workload()));
}

TEST(Selected, ShadowAlone_DoesNotSelect) {
  PolicyDocument policy = valid_policy();
  policy.mode = PolicyMode::kShadow;
  EXPECT_FALSE(selected(std::vector{active(policy)}, workload()));
}

TEST(Selected, NothingMatches_IsNotSelected) {
  EXPECT_FALSE(selected({}, workload()));
  EXPECT_FALSE(selected(std::vector{active(valid_policy())}, Workload{"dev", {}, {}}));
}

}  // namespace
}  // namespace assay::policy::test
