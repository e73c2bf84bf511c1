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

TEST(Match, Resources_ArePatterns) {
  WorkloadMatch match;
  match.resources = {"nvidia.com/*"};
  EXPECT_TRUE(matches(match, workload()));
  EXPECT_TRUE(matches(match, Workload{"prod", {}, {"cpu", "nvidia.com/mig-1g.5gb"}}));
  EXPECT_FALSE(matches(match, Workload{"prod", {}, {"amd.com/gpu"}}));
}

TEST(Match, ExcludedNamespaces_WinOverAllElse) {
  WorkloadMatch match = namespaces({"*"});
  match.exclude_namespaces = {"kube-*", "gpu-operator"};
  EXPECT_TRUE(matches(match, workload()));
  EXPECT_FALSE(matches(match, Workload{"kube-system", {}, {}}));
  EXPECT_FALSE(matches(match, Workload{"gpu-operator", {}, {}}));
  EXPECT_TRUE(matches(match, Workload{"gpu-operator-2", {}, {}}));
}

Workload with_ways(std::vector<std::string> ways) {
  Workload one{"prod-eu", {}, {}};
  one.accelerators = std::move(ways);
  return one;
}

TEST(Match, Accelerators_AnyWaySelects) {
  WorkloadMatch match;
  match.accelerators = true;
  for (const char* way : {"resource:nvidia.com/gpu", "resource-claims", "runtime-class:nvidia",
                          "env:NVIDIA_VISIBLE_DEVICES", "privileged", "device-path:/dev/nvidia0",
                          "cdi-annotation", "more", "a way that is not known yet"}) {
    EXPECT_TRUE(matches(match, with_ways({way}))) << way;
  }
  EXPECT_FALSE(matches(match, with_ways({})));
}

// Who asks without a pod says only which resources it has.
TEST(Match, Accelerators_AreAlsoSeenInResources) {
  WorkloadMatch match;
  match.accelerators = true;
  EXPECT_TRUE(matches(match, workload()));
  EXPECT_FALSE(matches(match, Workload{"prod", {}, {"cpu", "memory", "hugepages-2Mi"}}));
  match.harmless_resources = {"nvidia.com/gpu"};
  EXPECT_FALSE(matches(match, workload()));
}

TEST(Match, HarmlessResources_CoverNamedResourcesAndRuntimeClassesOnly) {
  WorkloadMatch match;
  match.accelerators = true;
  match.harmless_resources = {"rdma/*", "runtime-class:kata*"};
  EXPECT_FALSE(matches(match, with_ways({"resource:rdma/hca", "runtime-class:kata-qemu"})));
  EXPECT_TRUE(matches(match, with_ways({"resource:rdma/hca", "resource:nvidia.com/gpu"})));
  EXPECT_TRUE(matches(match, with_ways({"runtime-class:nvidia"})));
  match.harmless_resources = {"*"};
  EXPECT_FALSE(matches(match, with_ways({"resource:rdma/hca", "runtime-class:nvidia"})));
  for (const char* way : {"privileged", "env:NVIDIA_VISIBLE_DEVICES", "resource-claims", "more"}) {
    EXPECT_TRUE(matches(match, with_ways({way}))) << way;
  }
}

TEST(Match, Nodes_SelectWhereTheWorkloadGoes) {
  WorkloadMatch match;
  match.nodes = {"gpu-*"};
  Workload one = workload();
  EXPECT_FALSE(matches(match, one));
  one.node = "gpu-1";
  for (const DecisionPoint point :
       {DecisionPoint::kCreate, DecisionPoint::kBind, DecisionPoint::kServe}) {
    EXPECT_TRUE(matches(match, one, point));
  }
  one.node = "cpu-1";
  EXPECT_FALSE(matches(match, one, DecisionPoint::kBind));
}

// A workload that should name its node by now and does not may go to any.
TEST(Match, Nodes_WithoutANodeFromBindOn_Select) {
  WorkloadMatch match;
  match.nodes = {"gpu-*"};
  EXPECT_TRUE(matches(match, workload(), DecisionPoint::kBind));
  EXPECT_TRUE(matches(match, workload(), DecisionPoint::kServe));
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

TEST(Selected, PolicyOfNodes_SelectsFromBindOn) {
  PolicyDocument policy = valid_policy();
  policy.match.nodes = {"gpu-*"};
  const std::vector policies = {active(policy)};
  EXPECT_FALSE(selected(policies, workload()));
  EXPECT_TRUE(selected(policies, workload_on_node(), DecisionPoint::kBind));
}

// For a pod of which nothing is known: what is excluded stays excluded, the rest may be selected.
TEST(MayEnforce, ExcludedNamespaces_AreLeftOut) {
  PolicyDocument policy = valid_policy();
  policy.match = {};
  policy.match.accelerators = true;
  policy.match.nodes = {"gpu-*"};
  policy.match.exclude_namespaces = {"kube-system"};
  EXPECT_TRUE(may_enforce(std::vector{active(policy)}, "default"));
  EXPECT_FALSE(may_enforce(std::vector{active(policy)}, "kube-system"));
}

}  // namespace
}  // namespace assay::policy::test
