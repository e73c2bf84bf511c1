// SPDX-License-Identifier: Apache-2.0
// The evaluator against the slow reference, on random policies and facts.
#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "policy/conditions.h"
#include "policy/reference_sets.h"
#include "tests/policy/random_case.h"
#include "tests/support/policy_reference.h"
#include "tests/support/random_cases.h"

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

// Of a pod; sometimes none.
std::vector<std::string> ways(RandomCase& random) {
  std::vector<std::string> found;
  for (const char* way : {"privileged", "resource:rdma/hca", "runtime-class:nvidia"}) {
    if (random.below(4) == 0) {
      found.emplace_back(way);
    }
  }
  return found;
}

// Half of the cases are mostly honest, so that a single wrong thing decides; a third ask much of
// the node.
RandomOptions options_of(std::uint64_t seed) {
  return {.one_leaf_in = seed % 3 == 0 ? 2U : 12U, .honest = seed % 2 == 0, .relations = true};
}

// Lists as sets of values; the order is that of the second evaluator.
Json without_repetitions(const Json& json) {
  Json out = json;
  if (json.is_array()) {
    const std::set<Json> values(json.begin(), json.end());
    out = Json(values);
  }
  for (Json& part : out) {
    part = part.is_structured() ? without_repetitions(part) : part;
  }
  return out;
}

// The conditions without parts, in order.
void leaves_of(const std::vector<Condition>& conditions, std::vector<const Condition*>& leaves) {
  for (const Condition& condition : conditions) {
    if (const auto* parts = parts_of(condition)) {
      leaves_of(*parts, leaves);
    } else {
      leaves.push_back(&condition);
    }
  }
}

Json json_of(const Condition& condition) { return to_json(policy_with({condition}))["require"][0]; }

// Values stand where the second evaluator puts them, and conditions without values are open.
void check_sets(const ActivePolicy& policy, const ReferenceSets& sets) {
  std::map<std::string, ReferenceSet> known;
  for (const auto& [name, active] : sets) {
    known.emplace(name, active.set);
  }
  std::vector<const Condition*> written;
  std::vector<const Condition*> resolved;
  leaves_of(policy.written->require, written);
  leaves_of(policy.document.require, resolved);
  ASSERT_EQ(written.size(), resolved.size());
  for (std::size_t i = 0; i < written.size(); ++i) {
    const reference::Expanded expected = reference::expanded(json_of(*written[i]), known);
    EXPECT_EQ(resolved[i]->open_set.has_value(), !expected.open.empty());
    if (resolved[i]->open_set) {
      EXPECT_TRUE(expected.open.contains(resolved[i]->open_set->code));
      EXPECT_EQ(json_of(*resolved[i]), json_of(*written[i]));
    } else {
      EXPECT_EQ(without_repetitions(json_of(*resolved[i])), without_repetitions(expected.json));
    }
  }
}

void compare_case(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomCase random(seed, options_of(seed));
  const std::vector<Facts> models = random.models();
  const std::vector<ActivePolicy> policies = random.policies();
  for (const ActivePolicy& policy : policies) {
    if (policy.written) {
      check_sets(policy, random.sets());
    }
  }
  const auto point = static_cast<DecisionPoint>(random.below(3));
  Workload asker = random.below(8) == 0 ? workload() : workload_on_node();
  asker.accelerators = ways(random);
  asker.requester = random.requester();
  if (random.below(2) == 0) {
    random.add_pod(asker);
  }
  const Verdict verdict = evaluate(policies, asker, models, {}, point, now());
  const reference::Decision expected = reference::evaluate(policies, asker, models, point, now());
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
  for (std::uint64_t seed = 1; seed <= random_cases(kCases) && !HasFailure(); ++seed) {
    compare_case(seed);
  }
}

void tally(const ConditionResult& result, std::map<std::string, int>& seen) {
  ++seen[std::string(result.code ? info(*result.code).code : name(result.outcome))];
  for (const ConditionResult& part : result.parts) {
    tally(part, seen);
  }
}

constexpr const char* kCodes[] = {"pass",
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
                                  "evidence-rejected",
                                  "claim-unknown",
                                  "volume-changed",
                                  "anchor-not-accepted",
                                  "tcb-not-accepted",
                                  "worker-not-measured",
                                  "device-not-attested",
                                  "reference-unbound",
                                  "volume-unaccounted",
                                  "mount-overlaps",
                                  "mount-path-not-allowed",
                                  "mount-writable",
                                  "image-not-allowed",
                                  "report-missing",
                                  "report-stale",
                                  "model-mismatch",
                                  "spot-check-missing",
                                  "memory-staged",
                                  "memory-uncovered",
                                  "device-share-low",
                                  "device-bytes-unknown",
                                  "redraws-missing",
                                  "layout-kind-refused",
                                  "layout-not-pinned",
                                  "instance-unwatched",
                                  "instance-violated",
                                  "signers-relation-unknown",
                                  "requester-unknown",
                                  "requester-mismatch",
                                  "outside-window",
                                  "reference-set-missing",
                                  "reference-set-mismatch",
                                  "ancestor-unknown",
                                  "ancestor-denied",
                                  "stage-missing",
                                  "lineage-cycle",
                                  "lineage-incomplete",
                                  "licence-not-allowed",
                                  "licence-unknown",
                                  "statement-withdrawn",
                                  "stage-evidence-missing",
                                  "stage-evidence-rejected",
                                  "stage-evidence-stale",
                                  "stage-evidence-not-fresh",
                                  "stage-anchor-not-accepted",
                                  "stage-tcb-not-accepted",
                                  "stage-references-missing",
                                  "stage-measurements-mismatch",
                                  "event-log-missing",
                                  "boot-mismatch",
                                  "stage-event-log-missing",
                                  "stage-boot-mismatch"};

// The cases above are worth something: every code and both answers occur more than once.
TEST(Reference, RandomCases_ReachEveryCode) {
  std::map<std::string, int> seen;
  int allowed = 0;
  int pods_allowed = 0;
  const auto enough = [&] {
    return allowed > 200 && pods_allowed > 10 &&
           std::all_of(std::begin(kCodes), std::end(kCodes),
                       [&](const char* code) { return seen[code] > 2; });
  };
  for (std::uint64_t seed = 1; seed <= 4 * kCases && !enough(); ++seed) {
    RandomCase random(seed, options_of(seed));
    const std::vector<Facts> models = random.models();
    Workload asker = workload_on_node();
    asker.requester = random.requester();
    if (random.below(2) == 0) {
      random.add_pod(asker);
    }
    const Verdict verdict =
        evaluate(random.policies(), asker, models, {}, DecisionPoint::kServe, now());
    pods_allowed += verdict.allowed && asker.pod ? 1 : 0;
    allowed += verdict.allowed ? 1 : 0;
    for (const PolicyResult& policy : verdict.policies) {
      for (const ConditionResult& result : policy.conditions) {
        tally(result, seen);
      }
    }
  }
  EXPECT_GT(allowed, 200);
  EXPECT_GT(pods_allowed, 10);
  for (const char* code : kCodes) {
    EXPECT_GT(seen[code], 2) << code;
  }
}

}  // namespace
}  // namespace assay::policy::test
