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
  results.keep(at_most(3), {from_now(-60)}, 2);
  EXPECT_EQ(results.find(at_most(3)), 2U);
}

TEST(KeptResults, BeyondTheLimit_OldestIsForgotten) {
  const Results results;
  for (std::uint64_t depth = 0; depth <= KeptResults::kMaxKept; ++depth) {
    results.keep(at_most(depth), {now()}, depth);
  }
  EXPECT_EQ(results.find(at_most(0)), std::nullopt);
  for (std::uint64_t depth = 1; depth <= KeptResults::kMaxKept; ++depth) {
    EXPECT_EQ(results.find(at_most(depth)), depth);
  }
}

TEST(KeptResults, OfLongConditions_AreNotKept) {
  const Results results;
  LineageCondition fits = at_most(3);
  fits.deny.names = {std::string(KeptResults::kMaxBytes - 256, 'x')};
  results.keep(fits, {now()}, 3);
  EXPECT_EQ(results.find(fits), 3U);
  LineageCondition longer = at_most(3);
  longer.deny.names = {std::string(KeptResults::kMaxBytes, 'x')};
  results.keep(longer, {now()}, 3);
  EXPECT_EQ(results.find(longer), std::nullopt);
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

}  // namespace
}  // namespace assay::policy::test
