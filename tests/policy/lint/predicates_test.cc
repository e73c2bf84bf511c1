// SPDX-License-Identifier: Apache-2.0
// Lint of tests of predicates: indices, contradictions, values; with code and place.
#include <algorithm>

#include <gtest/gtest.h>

#include "policy/lint.h"
#include "tests/policy/fixture.h"

namespace assay::policy::test {
namespace {

// Codes and places of the warnings and errors about `kind`, the second condition of a policy.
std::vector<std::pair<std::string, std::string>> found(ConditionKind kind) {
  std::vector<std::pair<std::string, std::string>> codes;
  for (const Finding& one :
       lint(policy_with({manifest_condition(), condition("it", std::move(kind))}))) {
    if (one.level != Finding::Level::kNote) {
      codes.emplace_back(one.code, one.where);
    }
  }
  return codes;
}

StatementCondition with_tests(std::vector<PredicateTest> tests) {
  StatementCondition statement;
  statement.predicate_type = kLicenceType;
  statement.where = std::move(tests);
  return statement;
}

std::string code_of(std::vector<PredicateTest> tests) {
  const auto codes = found(with_tests(std::move(tests)));
  EXPECT_LE(codes.size(), 1U);
  return codes.empty() ? "" : codes.front().first;
}

NotCondition negated(StatementCondition statement) {
  NotCondition negation;
  negation.of.push_back(condition("inner", std::move(statement)));
  return negation;
}

PredicateTest items(ItemQuantifier quantifier, std::vector<PredicateTest> where) {
  PredicateTest test;
  test.pointer = "/inputs";
  test.items = quantifier;
  test.where = std::move(where);
  return test;
}

// not(/inputs/0/name == X) passes when X is input 1.
TEST(LintPredicates, IndexBelowNot_IsNamedWithItsPlace) {
  const auto codes = found(negated(with_tests({{"/parts/0/name", Comparison::kEqual, "X"}})));
  ASSERT_EQ(codes.size(), 1U);
  EXPECT_EQ(codes.front().first, "index-below-not");
  EXPECT_EQ(codes.front().second, "/require/1/not/statement/where/0");
  EXPECT_TRUE(found(with_tests({{"/parts/0/name", Comparison::kEqual, "X"}})).empty());
  EXPECT_TRUE(found(negated(with_tests(
                        {items(ItemQuantifier::kAny, {{"/name", Comparison::kEqual, "X"}})})))
                  .empty());
  const auto inner = found(
      negated(with_tests({items(ItemQuantifier::kAny, {{"/tags/1", Comparison::kEqual, "X"}})})));
  ASSERT_EQ(inner.size(), 1U);
  EXPECT_EQ(inner.front().second, "/require/1/not/statement/where/0/where/0");
}

TEST(LintPredicates, IndexWhereOrderMeansNothing_IsNamed) {
  EXPECT_EQ(code_of({{"/inputs/0/name", Comparison::kEqual, "X"}}), "index-without-order");
  EXPECT_EQ(code_of({{"/buildDefinition/resolvedDependencies/3/uri", Comparison::kEqual, "X"}}),
            "index-without-order");
  EXPECT_EQ(code_of({{"/steps/0/name", Comparison::kEqual, "X"}}), "");
}

TEST(LintPredicates, TestsThatExcludeEachOther_AreNamed) {
  const auto both = [](PredicateTest a, PredicateTest b) {
    const std::string one = code_of({a, b});
    EXPECT_EQ(code_of({b, a}), one);
    return one;
  };
  const PredicateTest one{"/x", Comparison::kEqual, 1};
  EXPECT_EQ(both(one, {"/x", Comparison::kEqual, 2}), "contradiction");
  EXPECT_EQ(both(one, {"/x", Comparison::kEqual, 1.0}), "");
  EXPECT_EQ(both(one, {"/y", Comparison::kEqual, 2}), "");
  EXPECT_EQ(both(one, {"/x", Comparison::kNotEqual, 1}), "contradiction");
  EXPECT_EQ(both(one, {"/x", Comparison::kGreater, 1}), "contradiction");
  EXPECT_EQ(both(one, {"/x", Comparison::kLessEqual, 1}), "");
  EXPECT_EQ(both(one, {"/x", Comparison::kIn, {2, 3}}), "contradiction");
  EXPECT_EQ(both(one, {"/x", Comparison::kExists, false}), "contradiction");
  EXPECT_EQ(both(one, {"/x", Comparison::kExists, true}), "");
  EXPECT_EQ(both({"/x", Comparison::kGreater, 2}, {"/x", Comparison::kLess, 2}), "contradiction");
  EXPECT_EQ(both({"/x", Comparison::kGreaterEqual, 2}, {"/x", Comparison::kLessEqual, 2}), "");
  EXPECT_EQ(both({"/x", Comparison::kGreater, "2.0.0", ValueType::kSemver},
                 {"/x", Comparison::kLess, "1.10.0", ValueType::kSemver}),
            "contradiction");
  EXPECT_EQ(both({"/x", Comparison::kEqual, "acme"}, {"/x", Comparison::kMatches, "b.*"}),
            "contradiction");
  EXPECT_EQ(code_of({items(ItemQuantifier::kEach, {one, {"/x", Comparison::kEqual, 2}})}),
            "contradiction");
}

TEST(LintPredicates, ValuesThatCompareWithNothing_NeverPass) {
  EXPECT_EQ(code_of({{"/x", Comparison::kMatches, "("}}), "never-passes");
  EXPECT_EQ(code_of({{"/x", Comparison::kSubset, "a"}}), "never-passes");
  EXPECT_EQ(code_of({{"/x", Comparison::kContains, Json::array()}}), "never-passes");
  EXPECT_EQ(code_of({{"/x", Comparison::kExists, 1}}), "never-passes");
  EXPECT_EQ(code_of({items(ItemQuantifier::kNone, {})}), "never-passes");
  EXPECT_EQ(code_of({{"/x", Comparison::kLess, "1.0.0", ValueType::kSemver}}), "");
}

TEST(LintPredicates, PeopleWhoCannotCount_AreNamed) {
  StatementCondition statement = with_tests({});
  statement.considered = {"ann"};
  statement.signers.identities = {"ben"};
  ASSERT_EQ(found(statement).size(), 1U);
  EXPECT_EQ(found(statement).front().first, "never-passes");
  RequestCondition both;
  both.users = {"ann"};
  both.principals = {"slurm"};
  ASSERT_EQ(found(both).size(), 1U);
  EXPECT_EQ(found(both).front().first, "never-passes");
}

TEST(LintPredicates, EmptyCombinations_HaveCodes) {
  EXPECT_EQ(found(AllCondition{}).front().first, "never-fails");
  EXPECT_EQ(found(AnyCondition{}).front().first, "never-passes");
}

}  // namespace
}  // namespace assay::policy::test
