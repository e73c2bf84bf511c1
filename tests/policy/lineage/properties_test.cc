// SPDX-License-Identifier: Apache-2.0
// What must hold for every lineage and every condition about it, and that the second evaluator
// comes to the same.
#include <algorithm>

#include <gtest/gtest.h>

#include "server/service/lineage/kept_results.h"
#include "tests/policy/lineage/random_lineage.h"
#include "tests/support/policy_reference.h"
#include "tests/support/seed.h"

namespace assay::policy::test {
namespace {

constexpr std::uint64_t kCases = 300;

void for_cases(const std::function<void(RandomLineage&)>& property) {
  const std::uint64_t first = std::getenv("ASSAY_SEED") == nullptr ? 1 : random_test_seed();
  for (std::uint64_t seed = first; seed < first + kCases && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomLineage random(seed);
    property(random);
  }
}

Outcome outcome_of(const LineageCondition& condition, const Made& made) {
  return judge_lineage(condition, made).outcome;
}

TEST(LineageProperties, SecondEvaluatorAgrees) {
  std::size_t passed = 0;
  std::set<std::optional<Reason>> seen;
  for_cases([&](RandomLineage& random) {
    const LineageCondition asked = random.condition();
    NotCondition negation;
    negation.of.push_back(condition("inner", asked));
    const std::vector<ActivePolicy> policies = {active(policy_with(
        {manifest_condition(), condition("plain", asked), condition("negated", negation)}))};
    std::vector<Facts> models = one(valid_facts());
    models[0].lineage = random.lineage();
    const Verdict verdict =
        evaluate(policies, workload(), models, {}, DecisionPoint::kCreate, now());
    const reference::Decision other =
        reference::evaluate(policies, workload(), models, DecisionPoint::kCreate, now());
    for (const std::size_t i : {1U, 2U}) {
      const ConditionResult& ours = verdict.policies[0].conditions[i];
      const reference::Answer& theirs = other.policies[0][i];
      const ConditionResult& leaf = i == 1 ? ours : ours.parts[0];
      const reference::Answer& their_leaf = i == 1 ? theirs : theirs.parts[0];
      EXPECT_EQ((Judgement{ours.outcome, ours.code}), (Judgement{theirs.outcome, theirs.code}));
      EXPECT_EQ((Judgement{leaf.outcome, leaf.code}),
                (Judgement{their_leaf.outcome, their_leaf.code}))
          << to_json(*models[0].lineage).dump(1) << to_json(policies[0].document).dump(1);
      seen.insert(leaf.code);
    }
    passed += verdict.policies[0].conditions[1].outcome == Outcome::kPass ? 1U : 0U;
  });
  EXPECT_GT(passed, kCases / 50);
  for (const Reason code :
       {Reason::kAncestorDenied, Reason::kAncestorUnknown, Reason::kLineageIncomplete,
        Reason::kLineageCycle, Reason::kLineageTooDeep, Reason::kStageMissing,
        Reason::kLicenceNotAllowed, Reason::kLicenceUnknown, Reason::kSignersInsufficient,
        Reason::kConditionUndecided}) {
    EXPECT_TRUE(seen.contains(code)) << info(code).code;
  }
}

// Whether the answer about one lineage changes at the time that the verdict names; before that, it
// must not.
bool changes_in_time(const LineageCondition& asked, const std::vector<Facts>& models) {
  constexpr std::chrono::milliseconds kTick(1);
  const std::vector<ActivePolicy> policies = {
      active(policy_with({manifest_condition(), condition("lineage", asked)}))};
  const auto at = [&](Timestamp time) {
    return evaluate(policies, workload(), models, {}, DecisionPoint::kCreate, time);
  };
  const auto brief_of = [](const Verdict& one) { return brief(one.policies[0].conditions[1]); };
  const Verdict verdict = at(now());
  const Timestamp until = verdict.valid_until.value_or(from_now(400LL * 24 * 3600));
  std::vector<Timestamp> times = {now() + kTick, now() + (until - now()) / 2, until - kTick};
  for (const std::int64_t seconds : {1, 2, 3, 5, 7, 10, 20, 29, 30, 60}) {
    times.push_back(from_now(seconds));
  }
  for (const Timestamp time : times) {
    if (time > now() && time < until) {
      EXPECT_EQ(brief_of(at(time)), brief_of(verdict)) << to_rfc3339(time) << to_rfc3339(until);
    }
  }
  return verdict.valid_until && brief_of(at(until)) != brief_of(verdict);
}

TEST(LineageProperties, Verdict_HoldsUntilTheTimeThatItNames) {
  std::size_t changed = 0;
  for_cases([&](RandomLineage& random) {
    Made made = random.made();
    for (SignerFact& signer : made[random.below(made.size())].fact.signers) {
      signer.signed_at = from_now(20);
    }
    LineageCondition attested;
    attested.edges = {{"", "", 1, {}, EvidenceDemands{.type = "tdx"}}};
    for (const LineageCondition& asked :
         {LineageCondition{}, attested, random.condition(), random.condition()}) {
      changed += changes_in_time(asked, one(facts_with(made))) ? 1U : 0U;
    }
  });
  EXPECT_GT(changed, 20U);
}

// A lineage that was judged before, at other times and under other conditions, gives the verdict of
// one that nobody looked at, to the letter.
TEST(LineageProperties, KeptResults_ChangeNoVerdict) {
  std::size_t kept = 0;
  for_cases([&](RandomLineage& random) {
    const Made made = random.made();
    std::vector<Facts> models = one(facts_with(made));
    const server::KeptResults results(models[0].lineage);
    models[0].lineage_results = &results;
    const std::vector<LineageCondition> conditions = {random.condition(), random.condition(), {}};
    for (int i = 0; i < 12; ++i) {
      const LineageCondition& asked = conditions[random.below(conditions.size())];
      const Timestamp time = from_now(-45 + static_cast<std::int64_t>(random.below(7)) * 15);
      const std::vector<ActivePolicy> policies = {
          active(policy_with({manifest_condition(), condition("lineage", asked)}))};
      const auto verdict_about = [&](const std::vector<Facts>& about) {
        return to_json(evaluate(policies, workload(), about, {}, DecisionPoint::kCreate, time));
      };
      kept += results.find({*models[0].lineage, asked, {"acme/demo"}, {SignerRequirement{}}}, time)
                  ? 1U
                  : 0U;
      EXPECT_EQ(verdict_about(models), verdict_about(one(facts_with(made))));
    }
  });
  EXPECT_GT(kept, kCases);
}

TEST(LineageProperties, UnrelatedStatement_ChangesNothing) {
  for_cases([](RandomLineage& random) {
    const LineageCondition condition = random.condition();
    Made made = random.made();
    const Judgement before = brief(judge_lineage(condition, made));
    made.push_back(about(2000, "train", digest_of("unrelated"), "acme/unrelated",
                         {input("dataset", "something", "acme/something")},
                         {maker("stranger", "train")}));
    EXPECT_EQ(brief(judge_lineage(condition, made)), before);
  });
}

template <typename T>
void shuffle(std::vector<T>& list, RandomLineage& random) {
  for (std::size_t i = list.size(); i > 1; --i) {
    std::swap(list[i - 1], list[random.below(i)]);
  }
}

// To the letter: explanations and the digest of a replay, too.
TEST(LineageProperties, OrderOfStatementsInputsAndSigners_ChangesNothing) {
  for_cases([](RandomLineage& random) {
    const std::vector<ActivePolicy> policies = {
        active(policy_with({manifest_condition(), condition("lineage", random.condition())}))};
    Made made = random.made();
    const auto judged = [&] {
      return evaluate(policies, workload(), one(facts_with(made)), {}, DecisionPoint::kCreate,
                      now());
    };
    const DocumentId id(sha256(as_bytes("case")));
    const Verdict before = judged();
    for (int i = 0; i < 3; ++i) {
      shuffle(made, random);
      for (LineageStatement& one : made) {
        shuffle(one.inputs, random);
        shuffle(one.fact.signers, random);
        shuffle(one.fact.evidence, random);
      }
      const Verdict after = judged();
      EXPECT_EQ(to_json(after), to_json(before));
      EXPECT_EQ(replay_digest(after, id, now()).value(), replay_digest(before, id, now()).value());
    }
  });
}

// The lists of a condition are sets, but for the stages.
TEST(LineageProperties, OrderOfTheListsOfACondition_ChangesNothing) {
  for_cases([](RandomLineage& random) {
    LineageCondition condition = random.condition();
    const LineageCondition more = random.condition();
    condition.leaves.insert(condition.leaves.end(), more.leaves.begin(), more.leaves.end());
    condition.edges.insert(condition.edges.end(), more.edges.begin(), more.edges.end());
    condition.deny.names.insert(condition.deny.names.end(), more.deny.names.begin(),
                                more.deny.names.end());
    const Made made = random.made();
    const Judgement before = brief(judge_lineage(condition, made));
    for (int i = 0; i < 3; ++i) {
      shuffle(condition.roles, random);
      shuffle(condition.leaves, random);
      shuffle(condition.edges, random);
      shuffle(condition.deny.names, random);
      EXPECT_EQ(brief(judge_lineage(condition, made)), before);
    }
  });
}

// Less is known of one thing: what says how it was made, in one statement, is taken away. That
// helps only where another statement said how the same thing was made.
TEST(LineageProperties, RemovingTheOnlyStatementOnAThing_NeverHelps) {
  std::size_t looked_at = 0;
  for_cases([&](RandomLineage& random) {
    const LineageCondition condition = random.condition();
    const Made made = random.made();
    if (outcome_of(condition, made) == Outcome::kPass || made.size() < 2) {
      return;
    }
    const std::size_t gone = random.below(made.size());
    const bool alone = std::all_of(made.begin(), made.end(), [&](const LineageStatement& other) {
      return &other == &made[gone] || other.manifest ||
             std::none_of(other.subjects.begin(), other.subjects.end(), [&](const auto& subject) {
               return std::any_of(made[gone].subjects.begin(), made[gone].subjects.end(),
                                  [&](const auto& mine) { return mine.digest == subject.digest; });
             });
    });
    const bool joined =
        std::any_of(made.begin(), made.end(), [](const auto& one) { return one.manifest; });
    if (!alone || joined || !condition.leaves.empty()) {
      return;
    }
    ++looked_at;
    Made less = made;
    less.erase(less.begin() + static_cast<std::ptrdiff_t>(gone));
    const bool was_reached = made[gone].fact.stage != "evaluate";
    if (was_reached) {
      EXPECT_NE(outcome_of(condition, less), Outcome::kPass);
    }
  });
  EXPECT_GT(looked_at, 5U);
}

TEST(LineageProperties, DenyingMore_NeverHelps) {
  for_cases([](RandomLineage& random) {
    LineageCondition condition = random.condition();
    const Made made = random.made();
    if (outcome_of(condition, made) == Outcome::kPass) {
      return;
    }
    condition.deny.identities.emplace_back("ann");
    EXPECT_NE(outcome_of(condition, made), Outcome::kPass);
  });
}

TEST(LineageProperties, AskingForEvidence_AndTakingItAway_NeverHelps) {
  std::size_t looked_at = 0;
  for_cases([&](RandomLineage& random) {
    LineageCondition condition = random.condition();
    Made made = random.made();
    const Outcome before = outcome_of(condition, made);
    LineageCondition more = condition;
    more.edges.push_back({"", "", 1, {}, random.demands()});
    if (before != Outcome::kPass) {
      EXPECT_NE(outcome_of(more, made), Outcome::kPass);
    }
    const bool any = outcome_of(more, made) == Outcome::kPass;
    for (LineageStatement& one : made) {
      one.fact.evidence.clear();
    }
    if (before != Outcome::kPass) {
      EXPECT_NE(outcome_of(condition, made), Outcome::kPass);
    }
    if (any && !made.empty()) {
      ++looked_at;
    }
  });
  EXPECT_GT(looked_at, 0U);
}

TEST(LineageProperties, DocumentIsJudgedAlike) {
  for_cases([](RandomLineage& random) {
    const LineageCondition condition = random.condition();
    Facts facts = valid_facts();
    facts.lineage = random.lineage();
    const std::string document = canonical_json(to_json(facts)).value();
    const Facts again = facts_from_json(parse_json(document).value()).value();
    EXPECT_EQ(canonical_json(to_json(again)).value(), document);
    EXPECT_EQ(brief(judge_alone(condition, again)), brief(judge_alone(condition, facts)));
  });
}

}  // namespace
}  // namespace assay::policy::test
