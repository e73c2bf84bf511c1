// SPDX-License-Identifier: Apache-2.0
// The evaluator against the slow reference, on random policies and facts.
#include <map>

#include <gtest/gtest.h>

#include "tests/policy/random_case.h"
#include "tests/support/policy_reference.h"

namespace assay::policy::test {
namespace {

constexpr std::uint64_t kCases = 8000;

reference::Answer answer_of(const ConditionResult& result) {
  reference::Answer answer{result.id, result.outcome, result.code, {}};
  for (const ConditionResult& part : result.parts) {
    answer.parts.push_back(answer_of(part));
  }
  return answer;
}

std::string describe(const reference::Answer& answer) {
  std::string text = answer.id + "=" + std::string(name(answer.outcome));
  text += answer.code ? ":" + std::string(info(*answer.code).code) : "";
  for (const reference::Answer& part : answer.parts) {
    text += " (" + describe(part) + ")";
  }
  return text;
}

void compare_case(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomCase random(seed);
  const Facts facts = random.facts();
  const std::vector<ActivePolicy> policies = random.policies();
  const auto point = static_cast<DecisionPoint>(random.below(3));
  const Workload asker = random.below(8) == 0 ? workload() : workload_on_node();
  const Verdict verdict = evaluate(policies, asker, facts, {}, point, now());
  const reference::Decision expected = reference::evaluate(policies, asker, facts, point, now());
  EXPECT_EQ(verdict.allowed, expected.allowed);
  EXPECT_EQ(verdict.reasons, expected.reasons);
  ASSERT_EQ(verdict.policies.size(), expected.policies.size());
  for (std::size_t p = 0; p < expected.policies.size(); ++p) {
    ASSERT_EQ(verdict.policies[p].conditions.size(), expected.policies[p].size());
    for (std::size_t c = 0; c < expected.policies[p].size(); ++c) {
      EXPECT_EQ(describe(answer_of(verdict.policies[p].conditions[c])),
                describe(expected.policies[p][c]));
    }
  }
}

TEST(Reference, RandomCases_AgreeInEveryOutcomeAndCode) {
  for (std::uint64_t seed = 1; seed <= kCases && !HasFailure(); ++seed) {
    compare_case(seed);
  }
}

void tally(const ConditionResult& result, std::map<std::string, int>& seen) {
  ++seen[std::string(result.code ? info(*result.code).code : name(result.outcome))];
  for (const ConditionResult& part : result.parts) {
    tally(part, seen);
  }
}

// The cases above are worth something: every code and both answers occur often.
TEST(Reference, RandomCases_ReachEveryCode) {
  std::map<std::string, int> seen;
  int allowed = 0;
  for (std::uint64_t seed = 1; seed <= 2 * kCases; ++seed) {
    RandomCase random(seed);
    const Facts facts = random.facts();
    const Verdict verdict = decide_on_node(random.policies(), facts);
    allowed += verdict.allowed ? 1 : 0;
    for (const PolicyResult& policy : verdict.policies) {
      for (const ConditionResult& result : policy.conditions) {
        tally(result, seen);
      }
    }
  }
  EXPECT_GT(allowed, 200);
  for (const char* code : {"pass",
                           "manifest-missing",
                           "signers-insufficient",
                           "statement-missing",
                           "predicate-mismatch",
                           "value-missing",
                           "condition-undecided",
                           "statement-stale",
                           "parameters-mismatch",
                           "condition-failed",
                           "key-revoked",
                           "key-expired",
                           "key-not-yet-valid",
                           "role-not-granted",
                           "wrong-purpose",
                           "node-not-enrolled",
                           "node-revoked",
                           "enrolment-expired",
                           "evidence-stale",
                           "anchor-not-accepted",
                           "tcb-not-accepted",
                           "worker-not-measured",
                           "device-not-attested",
                           "report-missing",
                           "report-stale",
                           "model-mismatch",
                           "spot-check-missing"}) {
    EXPECT_GT(seen[code], 5) << code;
  }
}

}  // namespace
}  // namespace assay::policy::test
