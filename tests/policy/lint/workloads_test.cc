// SPDX-License-Identifier: Apache-2.0
// What lint says about the workloads that a policy selects, and what it lets them mount.
#include <algorithm>

#include <gtest/gtest.h>

#include "policy/lint.h"
#include "tests/policy/fixture.h"

namespace assay::policy::test {
namespace {

using Level = Finding::Level;

// Texts of what lint says about the policy as a whole.
std::vector<std::string> said(const PolicyDocument& policy, Level level) {
  std::vector<std::string> texts;
  for (const Finding& finding : lint(policy)) {
    if (finding.level == level && finding.condition.empty()) {
      texts.push_back(finding.text);
    }
  }
  return texts;
}

// The one warning about the policy, "" when there is none.
std::string warning_of(const PolicyDocument& policy) {
  const auto found = said(policy, Level::kWarning);
  EXPECT_LE(found.size(), 1U) << testing::PrintToString(found);
  return found.empty() ? "" : found.front();
}

bool notes(const PolicyDocument& policy, std::string_view text) {
  const auto found = said(policy, Level::kNote);
  return std::any_of(found.begin(), found.end(),
                     [&](const auto& one) { return one.find(text) != std::string::npos; });
}

PolicyDocument matching(WorkloadMatch match) {
  PolicyDocument policy = valid_policy();
  policy.match = std::move(match);
  return policy;
}

TEST(WorkloadLint, Accelerators_AreAGoodSelection) {
  EXPECT_EQ(warning_of(matching({.accelerators = true})), "");
  EXPECT_EQ(warning_of(matching({.exclude_namespaces = {"kube-system"},
                                 .accelerators = true,
                                 .harmless_resources = {"rdma/*"}})),
            "");
}

TEST(WorkloadLint, SelectionByOneName_IsNamed) {
  EXPECT_TRUE(
      warning_of(matching({.resources = {"nvidia.com/gpu"}})).starts_with("selects by res"));
  EXPECT_TRUE(warning_of(matching({.namespaces = {"prod"}, .resources = {"nvidia.com/*"}}))
                  .starts_with("selects by resource name"));
  EXPECT_TRUE(warning_of(matching({.labels = {{"app", "chat"}}})).starts_with("selects by label"));
  EXPECT_TRUE(warning_of(matching({.labels = {{"app", "chat"}}, .accelerators = true}))
                  .starts_with("selects by label"));
}

TEST(WorkloadLint, PartsThatNarrowAccelerators_AreNamed) {
  EXPECT_TRUE(warning_of(matching({.resources = {"nvidia.com/*"}, .accelerators = true}))
                  .starts_with("resources beside accelerators"));
  EXPECT_TRUE(warning_of(matching({.accelerators = true, .nodes = {"gpu-*"}}))
                  .starts_with("nodes beside accelerators"));
  EXPECT_TRUE(warning_of(matching({.accelerators = true, .harmless_resources = {"*"}}))
                  .starts_with("calls every resource harmless"));
  EXPECT_EQ(warning_of(matching({.nodes = {"gpu-*"}})), "");
  EXPECT_TRUE(notes(matching({.nodes = {"gpu-*"}}), "at bind"));
}

TEST(WorkloadLint, Exclusions_AreSeen) {
  EXPECT_TRUE(warning_of(matching({.exclude_namespaces = {"kube-*"}}))
                  .starts_with("matches every workload of every namespace that is not"));
  EXPECT_TRUE(warning_of(matching({.exclude_namespaces = {"*"}, .accelerators = true}))
                  .starts_with("cannot match"));
}

TEST(WorkloadLint, RulesForPodsThatAdmitAnything_AreNamed) {
  PolicyDocument policy = valid_policy();
  policy.other_volumes = {"**"};
  EXPECT_TRUE(warning_of(policy).starts_with("other_volumes admits every volume"));
  policy = valid_policy();
  policy.images = {"*"};
  EXPECT_TRUE(warning_of(policy).starts_with("images admits every image"));
  policy = valid_policy();
  policy.writable_mounts = true;
  EXPECT_TRUE(warning_of(policy).starts_with("writable_mounts"));
  policy = valid_policy();
  policy.other_volumes = {"nfs"};
  policy.images = {"registry.example/serving/*@sha256:*"};
  EXPECT_EQ(warning_of(policy), "");
}

TEST(WorkloadLint, Surprises_AreNoted) {
  PolicyDocument policy = valid_policy();
  EXPECT_TRUE(notes(policy, "any image may run"));
  policy.images = {"registry.example/serving/*"};
  EXPECT_TRUE(notes(policy, "images by tag"));
  EXPECT_FALSE(notes(policy, "any image may run"));
  policy.mounts = MountRule::kWithin;
  EXPECT_TRUE(notes(policy, "mounts within"));
}

TEST(WorkloadLint, MountPaths_AreAdvisedAndLeadThroughNoLink) {
  PolicyDocument policy = valid_policy();
  EXPECT_TRUE(notes(policy, "no mount_paths"));
  policy.mount_paths = {"/models/*", "/srv/.cache"};
  EXPECT_FALSE(notes(policy, "no mount_paths"));
  EXPECT_EQ(warning_of(policy), "");
  for (const char* linked : {"/var/run/models", "/lib/models/*", "/proc/self/x", "/dev/fd"}) {
    policy.mount_paths = {linked};
    EXPECT_TRUE(warning_of(policy).starts_with("mount_paths: many images")) << linked;
  }
}

TEST(WorkloadLint, FillAtRun_NeedsAConditionAtServe) {
  PolicyDocument policy = valid_policy();
  policy.fill_at_run = {"sha256:" + std::string(64, 'a')};
  EXPECT_TRUE(warning_of(policy).starts_with("fill_at_run without"));
  ReportCondition memory;
  memory.scope = "device-memory";
  policy.require.push_back(condition("loaded", memory));
  policy.require.push_back(condition("node", NodeCondition{}));
  EXPECT_EQ(warning_of(policy), "");
}

TEST(WorkloadLint, Fillers_BindBothLists) {
  PolicyDocument policy = valid_policy();
  policy.fill_at_run = {"sha256:" + std::string(64, 'a')};
  ReportCondition memory;
  memory.scope = "device-memory";
  policy.require.push_back(condition("loaded", memory));
  policy.require.push_back(condition("node", NodeCondition{}));
  const std::vector<std::string> list = {"x"};
  policy.fillers = {{policy.fill_at_run[0], {}, list}};
  EXPECT_TRUE(warning_of(policy).starts_with("fillers without command"));
  policy.fillers = {{policy.fill_at_run[0], list, {}}};
  EXPECT_TRUE(warning_of(policy).starts_with("fillers without args"));
  policy.fillers = {{policy.fill_at_run[0], list, list}};
  EXPECT_EQ(warning_of(policy), "");
}

// Without one no location is bound, so that such a policy denies every pod.
TEST(WorkloadLint, EnforceWithoutManifestCondition_IsAnError) {
  const Condition evaluated = valid_policy().require[1];
  PolicyDocument policy = policy_with({evaluated});
  EXPECT_EQ(said(policy, Level::kError).size(), 1U);
  NotCondition negation;
  negation.of = {manifest_condition()};
  policy.require.push_back(condition("never", negation));
  EXPECT_EQ(said(policy, Level::kError).size(), 1U);
  policy.mode = PolicyMode::kWarn;
  EXPECT_TRUE(said(policy, Level::kError).empty());
  policy = policy_with({condition("any", AnyCondition{{manifest_condition(), evaluated}})});
  EXPECT_TRUE(said(policy, Level::kError).empty());
}

}  // namespace
}  // namespace assay::policy::test
