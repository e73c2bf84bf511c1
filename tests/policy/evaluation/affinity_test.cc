// SPDX-License-Identifier: Apache-2.0
// Labels that policies ask of nodes.
#include "policy/affinity.h"

#include <gtest/gtest.h>

#include "tests/policy/fixture.h"

namespace assay::policy::test {
namespace {

using Labels = std::map<std::string, std::vector<std::string>>;

ActivePolicy asking(Labels labels, PolicyMode mode = PolicyMode::kEnforce) {
  PolicyDocument policy = policy_with({manifest_condition()});
  policy.node_affinity = std::move(labels);
  policy.mode = mode;
  return active(std::move(policy));
}

NodeAffinity of(const std::vector<ActivePolicy>& policies) {
  return node_affinity(policies, workload());
}

TEST(NodeAffinity, NoPolicyAsks_IsEmpty) {
  EXPECT_TRUE(of({}).labels.empty());
  EXPECT_TRUE(of({asking({})}).labels.empty());
}

TEST(NodeAffinity, LabelsOfSeveralPolicies_AreMergedAndOrdered) {
  const NodeAffinity affinity =
      of({asking({{"zone", {"b", "a", "b"}}}), asking({{"assay.dev/attested", {"true"}}})});
  EXPECT_EQ(affinity.labels, (Labels{{"zone", {"a", "b"}}, {"assay.dev/attested", {"true"}}}));
  EXPECT_TRUE(affinity.conflicts.empty());
}

TEST(NodeAffinity, OneLabelOfTwoPolicies_IsTheIntersection) {
  const NodeAffinity affinity =
      of({asking({{"zone", {"a", "b", "c"}}}), asking({{"zone", {"c", "b", "x"}}})});
  EXPECT_EQ(affinity.labels, (Labels{{"zone", {"b", "c"}}}));
}

TEST(NodeAffinity, NothingInCommon_IsAConflict) {
  const NodeAffinity affinity = of({asking({{"zone", {"a"}}, {"tee", {"tdx"}}}),
                                    asking({{"zone", {"b"}}}), asking({{"zone", {"a"}}})});
  EXPECT_EQ(affinity.labels, (Labels{{"tee", {"tdx"}}}));
  EXPECT_EQ(affinity.conflicts, std::vector<std::string>{"zone"});
}

TEST(NodeAffinity, OnlyMatchingEnforcePolicies_Count) {
  ActivePolicy elsewhere = asking({{"zone", {"a"}}});
  elsewhere.document.match.namespaces = {"dev"};
  EXPECT_TRUE(of({asking({{"zone", {"a"}}}, PolicyMode::kWarn),
                  asking({{"zone", {"a"}}}, PolicyMode::kShadow), elsewhere})
                  .labels.empty());
}

TEST(NodeAffinity, Conflict_DeniesAtEveryPoint) {
  const std::vector policies = {asking({{"zone", {"a"}}}), asking({{"zone", {"b"}}})};
  for (const DecisionPoint point : {DecisionPoint::kCreate, DecisionPoint::kBind}) {
    const Verdict verdict = evaluate(policies, workload(), one(valid_facts()), {}, point, now());
    EXPECT_FALSE(verdict.allowed);
    EXPECT_EQ(verdict.reasons, std::vector{Reason::kConditionFailed});
    ASSERT_EQ(verdict.preconditions.size(), 1U);
    EXPECT_EQ(verdict.preconditions.front().id, "node-affinity");
    EXPECT_EQ(verdict.preconditions.front().actual, (Json{{"labels", {"zone"}}}));
  }
  EXPECT_TRUE(decide({policies.front()}, valid_facts()).allowed);
}

TEST(MayEnforce, LooksAtModeAndNamespaceAlone) {
  PolicyDocument narrow = valid_policy();
  narrow.match.labels = {{"app", "chat"}};
  narrow.match.resources = {"nvidia.com/gpu"};
  EXPECT_TRUE(may_enforce(std::vector{active(narrow)}, "prod-eu"));
  EXPECT_FALSE(may_enforce(std::vector{active(narrow)}, "dev"));
  narrow.mode = PolicyMode::kWarn;
  EXPECT_FALSE(may_enforce(std::vector{active(narrow)}, "prod-eu"));
  narrow.mode = PolicyMode::kEnforce;
  narrow.match.namespaces.clear();
  EXPECT_TRUE(may_enforce(std::vector{active(narrow)}, "anything"));
}

}  // namespace
}  // namespace assay::policy::test
