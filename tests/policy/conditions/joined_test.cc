// SPDX-License-Identifier: Apache-2.0
// Statements about another digest of the artifact: they count under policies that believe a
// manifest which joins the two, and only by signers for every name.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/policy/fixture.h"

namespace assay::policy::test {
namespace {

constexpr std::string_view kSignatureType = "https://model_signing/signature/v1.0";

TrustedKey vendor(std::string_view name_space = "*") {
  return signer("vendor-1", "vendor", "*", kSignatureType, name_space);
}

// Published by alice as acme/demo and by mallory as evil/demo; the vendor signed a digest that
// `joining` manifests name.
Facts joined(std::vector<std::uint64_t> joining, TrustedKey key = vendor()) {
  Facts facts = valid_facts();
  facts.manifests = {manifest(1, "acme/demo", {publisher("alice-1", "alice")}),
                     manifest(6, "evil/demo", {publisher("mallory-1", "mallory", "evil")})};
  StatementFact fact = foreign_statement(7, kSignatureType, Json::object(), {std::move(key)});
  fact.names.clear();
  for (const std::uint64_t number : joining) {
    fact.joined_by.push_back(statement_id(number));
  }
  facts.statements = {std::move(fact)};
  return facts;
}

PolicyDocument asking(std::vector<std::string> publishers) {
  StatementCondition signed_by_vendor;
  signed_by_vendor.predicate_type = kSignatureType;
  signed_by_vendor.signers.identities = {"vendor"};
  SignerRequirement published;
  published.identities = std::move(publishers);
  return policy_with({condition("published", manifest_condition(published).kind),
                      condition("vendor-signed", signed_by_vendor)});
}

Outcome outcome(const PolicyDocument& policy, const Facts& facts) {
  const Verdict verdict = decide(policy, facts);
  const auto& conditions = verdict.policies.front().conditions;
  const auto found = std::ranges::find(conditions, "vendor-signed", &ConditionResult::id);
  return found == conditions.end() ? Outcome::kError : found->outcome;
}

TEST(JoinedStatement, CountsByAManifestThatThePolicyBelieves) {
  EXPECT_EQ(outcome(asking({"alice"}), joined({1})), Outcome::kPass);
  EXPECT_EQ(outcome(asking({"alice"}), joined({1, 6})), Outcome::kPass);
  EXPECT_EQ(outcome(asking({}), joined({6})), Outcome::kPass);
}

TEST(JoinedStatement, CountsForNothingByTheManifestOfSomebodyElse) {
  EXPECT_EQ(outcome(asking({"alice"}), joined({6})), Outcome::kFail);
  EXPECT_EQ(outcome(asking({"alice"}), joined({8})), Outcome::kFail);
}

TEST(JoinedStatement, OfAnotherNameThanIsAskedFor_CountsForNothing) {
  Facts facts = joined({6});
  facts.name = "acme/demo";
  EXPECT_EQ(outcome(asking({}), facts), Outcome::kFail);
  facts.name = "evil/demo";
  EXPECT_EQ(outcome(asking({}), facts), Outcome::kPass);
}

TEST(JoinedStatement, OfASignerForOneName_CountsForNothing) {
  EXPECT_EQ(outcome(asking({"alice"}), joined({1}, vendor("acme"))), Outcome::kFail);
}

TEST(JoinedStatement, OfAManifestThatWasRevoked_CountsForNothing) {
  Facts facts = joined({1});
  facts.manifests[0] =
      manifest(1, "acme/demo", {revoked(publisher("alice-1", "alice"), from_now(-60))});
  EXPECT_EQ(outcome(asking({"alice"}), facts), Outcome::kFail);
}

TEST(JoinedStatement, TwoPolicies_AreJudgedEachByItsOwnBelief) {
  const Facts facts = joined({6});
  PolicyDocument first = asking({"alice"});
  PolicyDocument second = asking({"mallory"});
  second.name = "second";
  const Verdict verdict = decide({active(first), active(second)}, facts);
  ASSERT_EQ(verdict.policies.size(), 2U);
  for (const PolicyResult& policy : verdict.policies) {
    const auto found = std::ranges::find(policy.conditions, "vendor-signed", &ConditionResult::id);
    ASSERT_NE(found, policy.conditions.end());
    EXPECT_EQ(found->outcome, policy.name == "second" ? Outcome::kPass : Outcome::kFail);
  }
}

TEST(JoinedStatement, IsKeptInFacts) {
  const Facts facts = joined({6, 1});
  const auto again = facts_from_json(to_json(facts));
  ASSERT_TRUE(again.has_value());
  ASSERT_EQ(again->statements.size(), 1U);
  const std::vector<StatementId>& found = (*again->statements.begin()).joined_by;
  EXPECT_EQ(std::set<StatementId>(found.begin(), found.end()),
            (std::set<StatementId>{statement_id(1), statement_id(6)}));
}

}  // namespace
}  // namespace assay::policy::test
