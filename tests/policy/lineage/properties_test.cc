// SPDX-License-Identifier: Apache-2.0
// What must hold for every lineage and every condition about it, and that the second evaluator
// comes to the same.
#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "tests/policy/lineage/lineage_fixture.h"
#include "tests/support/policy_reference.h"
#include "tests/support/seed.h"

namespace assay::policy::test {
namespace {

constexpr std::uint64_t kCases = 300;

class RandomLineage {
 public:
  explicit RandomLineage(std::uint64_t seed) : engine_(seed), honest_(seed % 3 != 0) {}

  // A chain with branches; with wrong things among it unless it is honest.
  Made made() {
    Made made;
    const std::size_t count = 1 + below(7);
    for (std::size_t i = 0; i < count; ++i) {
      made.push_back(statement(i));
    }
    if (below(2) == 0) {
      made.push_back(joins(50 + below(40), {digest(below(6)), digest(below(6))}, name(),
                           {publisher("bob-1", "bob", below(4) == 0 ? "mallory" : "acme")}));
      spoil(made.back());
    }
    return made;
  }

  LineageCondition condition() {
    LineageCondition condition;
    if (below(3) == 0) {
      condition.roles = {"dataset", "base-model"};
    }
    if (below(2) == 0) {
      condition.leaves = {pick({"acme/*", "sha256:*", digest(below(6)), "mallory/x", "sha1:1*"})};
    }
    if (below(3) == 0) {
      condition.edges = {
          {pick({"train", "collect", ""}), pick({"dataset", "", "code"}), 1 + below(2), {}}};
      if (below(2) == 0) {
        condition.edges[0].identities = {"ann", "ben"};
      }
    }
    if (below(3) == 0) {
      condition.stages = {pick({"collect", "train", "evaluate"})};
      if (below(2) == 0) {
        condition.stages.push_back(pick({"train", "evaluate"}));
      }
    }
    if (below(3) == 0) {
      condition.deny.digests = {pick({digest(below(6)), "sha1:11"})};
    }
    if (below(6) == 0) {
      condition.deny.names = {pick({"mallory/*", "acme/y"})};
    }
    if (below(8) == 0) {
      condition.deny.identities = {"ben"};
    }
    if (below(4) == 0) {
      condition.max_depth = 1 + below(3);
    }
    if (below(4) == 0) {
      condition.licences = {{"MIT"}, {}};
    }
    return condition;
  }

  std::size_t below(std::size_t limit) { return engine_() % limit; }

 private:
  bool wrong_in(std::size_t n) { return below(honest_ ? 6 * n : n) == 0; }
  std::string pick(std::vector<std::string> choices) { return choices.at(below(choices.size())); }
  std::string digest(std::size_t i) {
    return i == 0 ? artifact().text() : digest_of(std::to_string(i));
  }
  std::string name() {
    return wrong_in(3) ? pick({"mallory/x", ""}) : pick({"acme/demo", "acme/y"});
  }
  void spoil(LineageStatement& one) {
    for (SignerFact& signer : one.fact.signers) {
      if (wrong_in(8)) {
        signer.key = revoked(signer.key, now());
      }
      if (wrong_in(8)) {
        signer.signed_at = from_now(30);
      }
    }
  }
  LineageStatement statement(std::size_t i) {
    const bool leaf = below(3) == 0;
    const std::string stage = leaf ? "collect" : pick({"train", "finetune", "evaluate"});
    std::vector<LineageInput> inputs;
    const std::size_t to = i < 6 && !wrong_in(4) ? i : below(6);
    for (std::size_t k = leaf ? 0 : 1 + below(2); k > 0; --k) {
      LineageInput one{pick({"dataset", "base-model", "code", "dependency"}), name(), {}};
      one.digests = {digest(wrong_in(4) ? below(6) : std::min<std::size_t>(to + 1 + below(2), 5))};
      if (wrong_in(8)) {
        one.digests = {"sha1:11"};
      } else if (wrong_in(8)) {
        one.digests.push_back(digest(below(6)));
        std::sort(one.digests.begin(), one.digests.end());
      }
      inputs.push_back(std::move(one));
    }
    std::vector<TrustedKey> keys = {signer(pick({"a", "b"}), pick({"ann", "ben"}), "*")};
    if (below(3) == 0) {
      keys.push_back(signer("c", "cid", "*", {}, below(2) == 0 ? "*" : "mallory"));
    }
    LineageStatement made = about(below(1000), stage, digest(to), to == 0 ? "acme/demo" : name(),
                                  std::move(inputs), std::move(keys));
    made.fact.id = statement_id(i + 100);
    made.unread = wrong_in(12);
    if (below(2) == 0) {
      made.licence = pick({"MIT", "MIT OR GPL-3.0-only", "GPL-3.0-only", "?"});
    }
    if (wrong_in(6)) {
      made.subjects.push_back({digest(below(6)), {name()}});
      std::sort(made.subjects.begin(), made.subjects.end(),
                [](const auto& a, const auto& b) { return a.digest < b.digest; });
      made.subjects.erase(
          std::unique(made.subjects.begin(), made.subjects.end(),
                      [](const auto& a, const auto& b) { return a.digest == b.digest; }),
          made.subjects.end());
    }
    spoil(made);
    return made;
  }

  std::mt19937_64 engine_;
  bool honest_;
};

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
    const std::vector<Facts> models = one(facts_with(random.made()));
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
  EXPECT_GE(seen.size(), 6U);  // most codes came up
}

TEST(LineageProperties, Verdict_HoldsUntilTheTimeThatItNames) {
  constexpr std::chrono::milliseconds kTick(1);
  for_cases([&](RandomLineage& random) {
    const std::vector<ActivePolicy> policies = {
        active(policy_with({condition("lineage", random.condition())}))};
    const std::vector<Facts> models = one(facts_with(random.made()));
    const auto at = [&](Timestamp time) {
      return evaluate(policies, workload(), models, {}, DecisionPoint::kCreate, time);
    };
    const Verdict verdict = at(now());
    const auto brief_of = [](const Verdict& one) { return brief(one.policies[0].conditions[0]); };
    const Timestamp until = verdict.valid_until.value_or(from_now(400LL * 24 * 3600));
    for (const Timestamp time : {now() + (until - now()) / 2, until - kTick}) {
      EXPECT_EQ(brief_of(at(time)), brief_of(verdict)) << to_rfc3339(until);
    }
  });
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

TEST(LineageProperties, OrderOfStatementsInputsAndSigners_ChangesNothing) {
  for_cases([](RandomLineage& random) {
    const LineageCondition condition = random.condition();
    Made made = random.made();
    const Judgement before = brief(judge_lineage(condition, made));
    std::reverse(made.begin(), made.end());
    for (LineageStatement& one : made) {
      std::reverse(one.inputs.begin(), one.inputs.end());
      std::reverse(one.fact.signers.begin(), one.fact.signers.end());
    }
    EXPECT_EQ(brief(judge_lineage(condition, made)), before);
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

TEST(LineageProperties, DocumentIsJudgedAlike) {
  for_cases([](RandomLineage& random) {
    const LineageCondition condition = random.condition();
    const Facts facts = facts_with(random.made());
    const std::string document = canonical_json(to_json(facts)).value();
    const Facts again = facts_from_json(parse_json(document).value()).value();
    EXPECT_EQ(canonical_json(to_json(again)).value(), document);
    EXPECT_EQ(brief(judge_alone(condition, again)), brief(judge_alone(condition, facts)));
  });
}

}  // namespace
}  // namespace assay::policy::test
