// SPDX-License-Identifier: Apache-2.0
// Results of conditions that are kept with a lineage.
#include "server/service/lineage/kept_results.h"

#include <gtest/gtest.h>

#include "tests/policy/lineage/lineage_fixture.h"

namespace assay::policy::test {
namespace {

const Names kNames = {"acme/demo"};
const std::vector<SignerRequirement> kDemands = {{}};  // as judge_alone() has

LineageCondition at_most(std::uint64_t depth) {
  LineageCondition condition;
  condition.max_depth = depth;
  return condition;
}

using server::KeptResults;

// Results about one lineage.
struct Results {
  std::shared_ptr<const Lineage> lineage = lineage_of(valid_lineage());
  KeptResults kept{lineage};

  void keep(const LineageCondition& condition, const Horizon& horizon, std::uint64_t depth) const {
    kept.keep({*lineage, condition, kNames, kDemands}, horizon,
              {{}, Outcome::kPass, std::nullopt, nullptr, {{"depth", depth}}, {}, {}});
  }
  // The depth in the result that is found.
  [[nodiscard]] std::optional<std::uint64_t> find(
      const LineageCondition& condition, Timestamp time = now(), const Names& names = kNames,
      const std::vector<SignerRequirement>& demands = kDemands) const {
    const auto found = kept.find({*lineage, condition, names, demands}, time);
    return found ? std::optional(found->actual["depth"].get<std::uint64_t>()) : std::nullopt;
  }
};

TEST(KeptResults, AreFoundByEqualConditionAndNames) {
  const Results results;
  results.keep(at_most(3), {now()}, 3);
  EXPECT_EQ(results.find(at_most(3)), 3U);
  EXPECT_EQ(results.find(at_most(4)), std::nullopt);
  for (const Names& names : {Names{}, Names{"acme/other"}, Names{"acme/demo", "acme/other"}}) {
    EXPECT_EQ(results.find(at_most(3), now(), names), std::nullopt);
  }
  // Whose manifests join digests is said by the policy.
  for (const std::vector<SignerRequirement>& demands :
       {std::vector<SignerRequirement>{}, std::vector<SignerRequirement>{{1, {"bob"}}},
        std::vector<SignerRequirement>{{}, {}}}) {
    EXPECT_EQ(results.find(at_most(3), now(), kNames, demands), std::nullopt);
  }
}

TEST(KeptResults, OfAnotherLineage_AreNotFoundAndNotKept) {
  const Results results;
  const auto equal = lineage_of(valid_lineage());
  const LineageCondition condition = at_most(3);
  results.kept.keep({*equal, condition, kNames, kDemands}, {now()},
                    {{}, Outcome::kPass, std::nullopt, nullptr, {{"depth", 3}}, {}, {}});
  EXPECT_EQ(results.find(condition), std::nullopt);
  results.keep(condition, {now()}, 3);
  EXPECT_EQ(results.kept.find({*equal, condition, kNames, kDemands}, now()), nullptr);
}

TEST(KeptResults, HoldFromTheirTimeUntilTheirHorizon) {
  constexpr std::chrono::milliseconds kTick(1);
  const Results results;
  results.keep(at_most(3), {now(), from_now(30)}, 3);
  EXPECT_EQ(results.find(at_most(3)), 3U);
  EXPECT_EQ(results.find(at_most(3), from_now(30) - kTick), 3U);
  EXPECT_EQ(results.find(at_most(3), from_now(30)), std::nullopt);
  EXPECT_EQ(results.find(at_most(3), now() - kTick), std::nullopt);
}

TEST(KeptResults, NewerReplacesTheOlder) {
  const Results results;
  results.keep(at_most(3), {now()}, 3);
  const std::size_t bytes = results.kept.bytes();
  results.keep(at_most(3), {from_now(-60)}, 2);
  EXPECT_EQ(results.find(at_most(3)), 2U);
  EXPECT_EQ(results.kept.bytes(), bytes);
}

// As when several policies with lineage conditions select one model.
TEST(KeptResults, OfManyConditionsInTurn_AreAllFound) {
  const Results results;
  for (std::uint64_t depth = 0; depth < 64; ++depth) {
    results.keep(at_most(depth), {now()}, depth);
  }
  for (int turn = 0; turn < 2; ++turn) {
    for (std::uint64_t depth = 0; depth < 64; ++depth) {
      EXPECT_EQ(results.find(at_most(depth)), depth);
    }
  }
}

LineageCondition denies(std::uint64_t depth, std::size_t count) {
  LineageCondition condition = at_most(depth);
  for (std::size_t i = 0; i < count; ++i) {
    condition.deny.digests.push_back(digest_of(std::to_string(i)));
  }
  return condition;
}

// Conditions that differ in one item of a long list are two.
TEST(KeptResults, OfLongLists_AreFound) {
  const Results results;
  const LineageCondition condition = denies(3, 1024);
  results.keep(condition, {now()}, 3);
  EXPECT_EQ(results.find(condition), 3U);
  LineageCondition other = condition;
  other.deny.digests[512] = digest_of("other");
  EXPECT_EQ(results.find(other), std::nullopt);
}

TEST(KeptResults, BeyondTheLimitOnBytes_ThoseUnusedForTheLongestTimeAreForgotten) {
  constexpr std::uint64_t kFirst = 10;  // all depths have two digits, so all results weigh the same
  const Results results;
  std::uint64_t depth = kFirst;
  std::size_t grown = 1;
  for (std::size_t before = 0; grown > before; ++depth) {
    before = results.kept.bytes();
    results.keep(denies(depth, 256), {now()}, depth);
    EXPECT_EQ(results.find(denies(kFirst, 256)), kFirst) << "used again and again";
    grown = results.kept.bytes();
    ASSERT_LE(grown, KeptResults::kMaxBytes);
    ASSERT_LT(depth, 99U);
  }
  EXPECT_GT(grown, KeptResults::kMaxBytes * 3 / 4);
  EXPECT_EQ(results.find(denies(kFirst + 1, 256)), std::nullopt);
  for (std::uint64_t kept = kFirst + 2; kept < depth; ++kept) {
    EXPECT_EQ(results.find(denies(kept, 256)), kept);
  }
}

TEST(KeptResults, OfMoreBytesThanTheLimit_AreNotKept_AndForgetNoOthers) {
  const Results results;
  results.keep(at_most(3), {now()}, 3);
  const std::size_t before = results.kept.bytes();
  EXPECT_GT(before, 0U);
  LineageCondition fits = at_most(4);
  fits.deny.names = {std::string(KeptResults::kMaxBytes / 2 - 4096, 'x')};
  results.keep(fits, {now()}, 4);
  EXPECT_EQ(results.find(fits), 4U);
  EXPECT_EQ(results.find(at_most(3)), 3U);
  LineageCondition longer = at_most(5);
  longer.deny.names = {std::string(KeptResults::kMaxBytes / 2, 'x')};
  results.keep(longer, {now()}, 5);
  EXPECT_EQ(results.find(longer), std::nullopt);
  EXPECT_EQ(results.find(at_most(3)), 3U);
  EXPECT_EQ(results.find(fits), 4U);
}

TEST(KeptResults, EvaluationKeepsAndTakesThem) {
  const Results results;
  Facts facts = valid_facts();
  facts.lineage = results.lineage;
  facts.lineage_results = &results.kept;
  EXPECT_EQ(brief(judge_alone(LineageCondition{}, facts)), kPassed);
  EXPECT_EQ(results.find({}), 1U);
  results.keep({}, {now()}, 77);
  EXPECT_EQ(judge_alone(LineageCondition{}, facts).actual["depth"], 77);
  // A lineage in place of the one that the results are about is judged itself.
  facts.lineage = lineage_of(valid_lineage());
  EXPECT_EQ(judge_alone(LineageCondition{}, facts).actual["depth"], 1);
}

TEST(KeptResults, EndWithASignatureFromTheFuture) {
  Made made = valid_lineage();
  made[1].fact.signers[0].signed_at = from_now(30);
  Results results{lineage_of(made)};
  Facts facts = valid_facts();
  facts.lineage = results.lineage;
  facts.lineage_results = &results.kept;
  EXPECT_NE(brief(judge_alone(LineageCondition{}, facts)), kPassed);
  EXPECT_TRUE(results.find({}, from_now(29)));
  EXPECT_FALSE(results.find({}, from_now(30)));
}

// Waits until it was asked `times` times.
class Waiting final : public LineageResults {
 public:
  explicit Waiting(std::size_t times) : times_(times) {}
  [[nodiscard]] std::shared_ptr<const ConditionResult> find(const LineageQuestion& /*question*/,
                                                            Timestamp /*now*/) const override {
    return nullptr;
  }
  void keep(const LineageQuestion& /*question*/, const Horizon& /*horizon*/,
            const ConditionResult& /*result*/) const override {
    kept_ = true;
  }
  [[nodiscard]] bool in_time() const override { return asked_++ < times_; }
  [[nodiscard]] std::size_t asked() const { return asked_; }
  [[nodiscard]] bool kept() const { return kept_; }

 private:
  std::size_t times_;
  mutable std::size_t asked_ = 0;
  mutable bool kept_ = false;
};

// At whatever step the time is over: an error that is not kept, never half a judgement.
TEST(LineageDeadline, EndsTheJudgement_WhichIsNotKept) {
  Made made = valid_lineage();
  for (std::uint64_t i = 0; i < 60; ++i) {
    const std::string from = "shard " + std::to_string(i);
    made[0].inputs.push_back(input("dataset", from, "acme/corpus"));
    made.push_back(about(100 + i, "collect", digest_of(from), "acme/corpus", {},
                         {maker("curator", "collect")}));
  }
  LineageCondition condition;
  condition.deny.names = {"acme/secret"};
  LineageEdgeRule rule;
  rule.stage = "train";
  rule.identities = {"trainer"};
  condition.edges = {rule};
  condition.leaves = {"acme/other"};
  Facts facts = facts_with(made);
  std::size_t stopped = 0;
  for (bool whole = false; !whole; ++stopped) {
    const Waiting waiting(stopped);
    facts.lineage_results = &waiting;
    const ConditionResult result = judge_alone(condition, facts);
    whole = waiting.kept();
    EXPECT_EQ(brief(result),
              whole ? kPassed : (Judgement{Outcome::kError, Reason::kConditionUndecided}));
    EXPECT_EQ(waiting.asked(), whole ? stopped : stopped + 1) << "nobody is asked again";
    if (!whole) {
      EXPECT_EQ(brief(judge_not(condition, facts)).outcome, Outcome::kError);
    }
    ASSERT_LT(stopped, 1000U);
  }
  EXPECT_GT(stopped, 10U);
}

}  // namespace
}  // namespace assay::policy::test
