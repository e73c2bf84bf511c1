// SPDX-License-Identifier: Apache-2.0
// What no policy reads of a workload changes nothing, and is left out.
#include "policy/as_read.h"

#include <gtest/gtest.h>

#include "tests/policy/random_case.h"

namespace assay::policy::test {
namespace {

Workload pod() {
  Workload workload = workload_on_node();
  workload.labels = {{"app", "chat"}, {"team", "a"}};
  workload.pod = true;
  workload.images = {{"server", "registry.example/server:1", false}};
  return workload;
}

TEST(AsRead, LabelsAndImagesThatNoPolicyReads_AreLeftOut) {
  PolicyDocument policy = valid_policy();
  policy.match.labels = {{"app", "batch"}};
  const Workload read = as_read(pod(), std::vector{active(policy)});
  EXPECT_EQ(read.labels, (std::map<std::string, std::string>{{"app", "chat"}}));
  ASSERT_EQ(read.images.size(), 1U);
  EXPECT_EQ(read.images[0].container, "server");
  EXPECT_EQ(read.images[0].image, "");
}

TEST(AsRead, Images_StayForPoliciesAboutThem) {
  PolicyDocument images = valid_policy();
  images.images = {"registry.example/*"};
  PolicyDocument filled = valid_policy();
  filled.fill_at_run = {"sha256:" + std::string(64, '1')};
  for (const PolicyDocument& policy : {images, filled}) {
    EXPECT_EQ(as_read(pod(), std::vector{active(policy)}).images[0].image, pod().images[0].image);
  }
}

std::vector<std::string> numbered(const std::string& start, int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) {
    names.push_back(start + std::to_string(i));
  }
  return names;
}

TEST(AsRead, ResourcesThatNoPolicyReads_AreLeftOut) {
  PolicyDocument policy = valid_policy();
  policy.match.resources = {"nvidia.com/*"};
  Workload workload = pod();
  workload.resources = {"acme.example/1", "cpu", "nvidia.com/gpu"};
  workload.accelerators = {"privileged"};
  Workload read = as_read(workload, std::vector{active(policy)});
  EXPECT_EQ(read.resources, std::vector<std::string>{"nvidia.com/gpu"});
  EXPECT_TRUE(read.accelerators.empty());
  policy.match = {.accelerators = true, .harmless_resources = {"acme.example/*"}};
  workload.accelerators = {"privileged", "resource:acme.example/1"};
  read = as_read(workload, std::vector{active(policy)});
  EXPECT_EQ(read.resources, std::vector<std::string>{"nvidia.com/gpu"});
  EXPECT_EQ(read.accelerators, std::vector<std::string>{"privileged"});
}

TEST(AsRead, ManyResources_AreTheFirstAndWhatAPolicyLooksFor) {
  PolicyDocument any = valid_policy();
  any.match.resources = {"*"};
  PolicyDocument one = valid_policy();
  one.match.resources = {"z.example/gpu"};
  Workload workload = pod();
  workload.resources = numbered("a.example/", 3500);
  workload.resources.emplace_back("z.example/gpu");
  const std::vector policies = {active(any), active(one)};
  const Workload read = as_read(workload, policies);
  std::vector<std::string> expected = numbered("a.example/", kMaxReadNames);
  expected.emplace_back("z.example/gpu");
  EXPECT_EQ(read.resources, expected);
  workload.resources.insert(workload.resources.begin() + 100, "b.example/other");
  EXPECT_EQ(as_read(workload, policies).resources, expected) << "the same case";
  EXPECT_TRUE(matches(one.match, read));
  for (const int count : {16, 17}) {
    workload.resources = numbered("a.example/", count);
    EXPECT_EQ(as_read(workload, policies).resources, numbered("a.example/", kMaxReadNames));
  }
}

// Names that policies of random cases read, name as harmless, or do not know; sometimes many.
void add_names(Workload& workload, std::uint64_t seed) {
  const std::vector<std::string> known = {"cpu",      "nvidia.com/gpu", "amd.com/gpu",
                                          "rdma/hca", "hugepages-2Mi",  "other.example/x"};
  workload.resources = numbered("a.example/", seed % 5 == 0 ? 40 : 0);
  workload.accelerators = numbered("resource:rdma/", seed % 7 == 0 ? 40 : 0);
  for (std::size_t i = 0; i < known.size(); ++i) {
    if ((seed >> i) % 2 == 1) {
      workload.resources.push_back(known[i]);
    }
    if ((seed >> (i + 3)) % 4 == 1) {
      workload.accelerators.push_back("resource:" + known[i]);
    }
  }
  if (seed % 11 == 0) {
    workload.accelerators.emplace_back("privileged");
  }
}

TEST(AsRead, Verdict_IsTheSame) {
  int without = 0;
  for (std::uint64_t seed = 1; seed <= 1500 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomCase random(seed);
    const std::vector<Facts> models = random.models();
    const std::vector<ActivePolicy> policies = random.policies();
    Workload workload = pod();
    random.add_pod(workload);
    add_names(workload, seed);
    const Workload read = as_read(workload, policies);
    const auto verdict = [&](const Workload& used) {
      return to_json(evaluate(policies, used, models, {}, DecisionPoint::kServe, now()));
    };
    EXPECT_EQ(verdict(read), verdict(workload));
    without += to_json(read) != to_json(workload) ? 1 : 0;
  }
  EXPECT_GT(without, 100);
}

// --- lists that copies share

TEST(SharedList, Change_IsSeenByNoCopy) {
  SharedList<int> list = {1, 2};
  const SharedList<int> copy = list;
  EXPECT_EQ(&copy.read(), &std::as_const(list).read()) << "nothing is copied";
  list.push_back(3);
  list[0] = 9;
  EXPECT_EQ(copy.read(), (std::vector<int>{1, 2}));
  EXPECT_EQ(list.read(), (std::vector<int>{9, 2, 3}));
  EXPECT_TRUE(SharedList<int>().empty());
}

// --- predicates that are kept elsewhere

class KeptElsewhere final : public PredicateTests {
 public:
  explicit KeptElsewhere(const Facts& facts) : facts_(facts) {}
  [[nodiscard]] TestOutcome run(const StatementFact& statement, const PredicateTest& test,
                                Timestamp now) const override {
    for (const StatementFact& one : facts_.statements) {
      if (one.id == statement.id) {
        return policy::run(test, one.predicate, now);
      }
    }
    return {Outcome::kError, Reason::kConditionUndecided, nullptr};
  }

 private:
  const Facts& facts_;
};

TEST(PredicateTests, KeptElsewhere_GiveTheSameVerdict) {
  for (std::uint64_t seed = 1; seed <= 1500 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomCase random(seed);
    const Facts facts = random.facts();
    const auto policies = random.policies();
    const KeptElsewhere tests(facts);
    Facts bare = facts;
    for (StatementFact& one : bare.statements) {
      one.predicate = nullptr;
    }
    bare.tests = &tests;
    EXPECT_EQ(to_json(decide_on_node(policies, bare)), to_json(decide_on_node(policies, facts)));
  }
}

TEST(StatementCondition, ManyFailures_AreCountedAndTheFirstShown) {
  for (const std::size_t count : {std::size_t{16}, std::size_t{17}}) {
    StatementCondition evaluated = stage_condition("evaluate");
    evaluated.where = {{"/good", Comparison::kEqual, true}};
    Facts facts = valid_facts();
    facts.statements.clear();
    for (std::uint64_t i = 0; i < count; ++i) {
      facts.statements.push_back(
          statement(20 + i, "evaluate", {{"good", false}}, {signer("e", "eve", "evaluate")}));
    }
    const ConditionResult result = judge_on_node(evaluated, facts, workload_on_node());
    EXPECT_EQ(result.actual["failures"].size(), 16U);
    EXPECT_EQ(result.actual.contains("failures_count"), count == 17);
    EXPECT_EQ(result.evidence.size(), count);
    EXPECT_EQ(result.evidence.first().size(), 16U);
  }
}

}  // namespace
}  // namespace assay::policy::test
