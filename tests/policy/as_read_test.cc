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

TEST(AsRead, Verdict_IsTheSame) {
  int without = 0;
  for (std::uint64_t seed = 1; seed <= 1500 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomCase random(seed);
    const std::vector<Facts> models = random.models();
    const std::vector<ActivePolicy> policies = random.policies();
    Workload workload = pod();
    random.add_pod(workload);
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
  [[nodiscard]] TestOutcome run(const StatementFact& statement,
                                const PredicateTest& test) const override {
    for (const StatementFact& one : facts_.statements) {
      if (one.id == statement.id) {
        return policy::run(test, one.predicate);
      }
    }
    return {Outcome::kError, ErrorCode::kConditionUndecided, nullptr};
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
