// SPDX-License-Identifier: Apache-2.0
// The index over the match part of policies finds what looking at each policy finds.
#include "policy/match_index.h"

#include <gtest/gtest.h>

#include "policy/as_read.h"
#include "tests/policy/random_case.h"

namespace assay::policy::test {
namespace {

using Names = std::vector<std::string>;

std::shared_ptr<const std::vector<ActivePolicy>> shared(std::vector<ActivePolicy> policies) {
  return std::make_shared<const std::vector<ActivePolicy>>(std::move(policies));
}

ActivePolicy matching(WorkloadMatch match) {
  PolicyDocument document = valid_policy();
  document.match = std::move(match);
  return active(std::move(document));
}

class RandomMatch {
 public:
  explicit RandomMatch(std::uint64_t seed) : engine_(seed) {}

  Names some(const Names& choices) {
    Names chosen;
    for (std::size_t i = below(3); i > 0; --i) {
      chosen.push_back(choices[below(choices.size())]);
    }
    return chosen;
  }
  WorkloadMatch match() {
    WorkloadMatch made{.namespaces = some({"prod", "prod-*", "*-eu", "*", "dev", "", "pro*eu"})};
    made.resources = some({"nvidia.com/gpu", "nvidia.com/*", "amd.com/gpu"});
    made.exclude_namespaces = below(4) == 0 ? some({"prod-eu", "kube-*"}) : Names();
    made.nodes = below(4) == 0 ? some({"gpu-*", "gpu-1"}) : Names();
    made.accelerators = below(4) == 0;
    if (below(3) == 0) {
      made.labels["app"] = below(2) == 0 ? "chat" : "batch";
    }
    if (below(4) == 0) {
      made.labels["team"] = "";
    }
    return made;
  }
  Workload workload() {
    Workload made{.name_space = Names{"prod", "prod-eu", "dev", "", "kube-system"}[below(5)],
                  .labels = {},
                  .resources = some({"nvidia.com/gpu", "nvidia.com/mig", "amd.com/gpu", "cpu"})};
    made.node = below(2) == 0 ? "" : "gpu-1";
    made.labels["app"] = below(2) == 0 ? "chat" : "other";
    if (below(2) == 0) {
      made.labels["team"] = "";
    }
    return made;
  }

 private:
  std::size_t below(std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(engine_);
  }
  std::mt19937_64 engine_;
};

TEST(MatchIndex, FindsExactlyWhatMatches) {
  std::size_t found = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    RandomMatch random(seed);
    std::vector<ActivePolicy> policies;
    for (int i = 0; i < 100; ++i) {
      policies.push_back(matching(random.match()));
      policies.back().document.version = static_cast<std::uint64_t>(i) + 1;
    }
    const MatchIndex index(shared(policies));
    for (int i = 0; i < 20; ++i) {
      const Workload workload = random.workload();
      for (const DecisionPoint point :
           {DecisionPoint::kCreate, DecisionPoint::kBind, DecisionPoint::kServe}) {
        std::vector<std::uint64_t> expected;
        for (const ActivePolicy& policy : policies) {
          if (matches(policy.document.match, workload, point)) {
            expected.push_back(policy.document.version);
          }
        }
        std::vector<std::uint64_t> got;
        for (const ActivePolicy& policy : index.matching(workload, point)) {
          got.push_back(policy.document.version);
        }
        ASSERT_EQ(got, expected) << "seed " << seed;
        found += got.size();
      }
    }
  }
  EXPECT_GT(found, 1000U);
}

TEST(MatchIndex, VerdictAboutMatchingPolicies_IsTheVerdictAboutAll) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    RandomMatch random(seed);
    std::vector<ActivePolicy> policies;
    for (int i = 0; i < 70; ++i) {
      policies.push_back(matching(random.match()));
    }
    const MatchIndex index(shared(policies));
    const Workload workload = random.workload();
    const auto point = workload.node.empty() ? DecisionPoint::kCreate : DecisionPoint::kBind;
    const Verdict all = evaluate(policies, workload, one(valid_facts()), {}, point, now());
    const Verdict few =
        evaluate(index.matching(workload, point), workload, one(valid_facts()), {}, point, now());
    ASSERT_EQ(to_json(few), to_json(all)) << "seed " << seed;
  }
}

// A workload that was read under some policies either answers for another policy as it would have
// itself, or is said not to have enough.
TEST(ReadsEnough, NeverMisleads) {
  std::size_t enough = 0;
  std::size_t lacking = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    RandomMatch random(seed);
    const std::vector<ActivePolicy> policies = {matching(random.match()), matching(random.match())};
    const Workload whole = random.workload();
    const Workload read = as_read(whole, policies);
    const PolicyDocument other = matching(random.match()).document;
    if (reads_enough(other, read, policies)) {
      ++enough;
      ASSERT_EQ(matches(other.match, read, DecisionPoint::kBind),
                matches(other.match, whole, DecisionPoint::kBind))
          << "seed " << seed;
    } else {
      ++lacking;
    }
    ASSERT_TRUE(reads_enough(policies[0].document, read, policies)) << "seed " << seed;
  }
  EXPECT_GT(enough, 300U);
  EXPECT_GT(lacking, 100U);
}

TEST(ReadsEnough, ImagesAreKeptForPoliciesAboutThem) {
  Workload pod = workload();
  pod.pod = true;
  pod.images = {{"server", "registry.example/server:1", false}};
  PolicyDocument images = valid_policy();
  images.images = {"registry.example/*"};
  const std::vector<ActivePolicy> without = {active(valid_policy())};
  EXPECT_FALSE(reads_enough(images, as_read(pod, without), without));
  const std::vector<ActivePolicy> with = {active(valid_policy()), active(images)};
  EXPECT_TRUE(reads_enough(images, as_read(pod, with), with));
}

// What is filed elsewhere is not looked at.
TEST(MatchIndex, LooksAtFewOfMany) {
  std::vector<ActivePolicy> policies;
  for (int i = 0; i < 400; ++i) {
    const std::string number = std::to_string(i);
    policies.push_back(matching({.namespaces = {"team-" + number}}));
    policies.push_back(matching({.labels = {{"app", "app-" + number}}}));
    policies.push_back(matching({.namespaces = {"zone-" + number + "-*"}}));
    policies.push_back(matching({.resources = {"example.com/device-" + number}}));
  }
  const MatchIndex index(shared(std::move(policies)));
  EXPECT_EQ(index.candidates({.name_space = "team-7", .labels = {}, .resources = {}}).size(), 1U);
  EXPECT_EQ(index.candidates({"zone-7-eu", {{"app", "app-8"}}, {"example.com/device-9"}}).size(),
            3U);
  EXPECT_TRUE(index.candidates({"team-", {{"app", "app"}}, {"example.com/device"}}).empty());
}

}  // namespace
}  // namespace assay::policy::test
