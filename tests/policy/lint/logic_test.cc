// SPDX-License-Identifier: Apache-2.0
// Combinations that can never pass or never fail are found, with position and code.
#include <algorithm>

#include <gtest/gtest.h>

#include "policy/lint.h"
#include "tests/policy/fixture.h"

namespace assay::policy::test {
namespace {

// "code where" of every warning and error that has a code of its own, but for the absence of a
// manifest condition.
std::vector<std::string> codes_of(const PolicyDocument& policy) {
  std::vector<std::string> codes;
  for (const Finding& finding : lint(policy)) {
    if (finding.level != Finding::Level::kNote && finding.code != "advice" &&
        finding.code != "no-manifest") {
      codes.push_back(finding.code + " " + finding.where);
    }
  }
  return codes;
}

std::vector<std::string> codes_of(std::vector<Condition> beside) {
  beside.insert(beside.begin(), manifest_condition());
  return codes_of(policy_with(std::move(beside)));
}

using Codes = std::vector<std::string>;

Condition impossible(std::string_view id) {
  StatementCondition statement = stage_condition("approve");
  statement.signers = {3, {"carol", "dave"}};
  return condition(id, statement);
}
Condition possible(std::string_view id) { return condition(id, stage_condition("approve")); }
Condition unfailing(std::string_view id) { return condition(id, ParametersCondition{}); }

template <typename Kind>
Condition of(std::string_view id, std::vector<Condition> parts) {
  Kind kind;
  kind.of = std::move(parts);
  return condition(id, std::move(kind));
}

Condition negated(std::string_view id, Condition part) {
  return of<NotCondition>(id, {std::move(part)});
}

Condition accuracy(std::string_view id, Comparison op, double value,
                   Quantifier quantifier = Quantifier::kEvery) {
  StatementCondition statement = stage_condition("evaluate");
  statement.where = {{.pointer = "/metrics/accuracy/value", .op = op, .value = value}};
  statement.quantifier = quantifier;
  return condition(id, statement);
}

TEST(LintLogic, CombinationOfWhatCannotPass_CannotPass) {
  EXPECT_EQ(codes_of({of<AnyCondition>("any", {impossible("a"), impossible("b")})}),
            (Codes{"never-passes /require/1/any/0", "never-passes /require/1/any/1",
                   "never-passes /require/1"}));
  EXPECT_EQ(codes_of({of<AllCondition>("all", {possible("a"), impossible("b")})}),
            (Codes{"never-passes /require/1/all/1", "never-passes /require/1"}));
  EXPECT_EQ(codes_of({condition("two", AtLeastCondition{2, {possible("a"), impossible("b")}})}),
            (Codes{"never-passes /require/1/at_least/of/1", "never-passes /require/1"}));
  // One way is left.
  EXPECT_EQ(codes_of({of<AnyCondition>("any", {possible("a"), impossible("b")})}),
            (Codes{"never-passes /require/1/any/1"}));
}

TEST(LintLogic, CombinationOfWhatCannotFail_CannotFail) {
  EXPECT_EQ(codes_of({of<AnyCondition>("any", {possible("a"), unfailing("b")})}),
            (Codes{"never-fails /require/1/any/1", "never-fails /require/1"}));
  EXPECT_EQ(codes_of({of<AllCondition>("all", {possible("a"), unfailing("b")})}),
            (Codes{"never-fails /require/1/all/1"}));
  EXPECT_EQ(codes_of({negated("not", impossible("a"))}),
            (Codes{"never-passes /require/1/not", "never-fails /require/1"}));
  EXPECT_EQ(codes_of(policy_with({unfailing("a")})),
            (Codes{"never-fails /require/0", "never-fails /require"}));
}

// "where" of the errors.
Codes errors_of(std::vector<Condition> beside) {
  beside.insert(beside.begin(), manifest_condition());
  Codes errors;
  for (const Finding& finding : lint(policy_with(std::move(beside)))) {
    if (finding.level == Finding::Level::kError) {
      errors.push_back(finding.code + " " + finding.where);
    }
  }
  return errors;
}

// What must pass is refused with its place and code; one way among several is only named.
TEST(LintLogic, WhatDecidesThePolicy_IsAnError) {
  EXPECT_EQ(errors_of({impossible("a")}), Codes{"never-passes /require/1"});
  EXPECT_EQ(errors_of({unfailing("a")}), Codes{"never-fails /require/1"});
  EXPECT_EQ(errors_of({possible("a"), negated("b", possible("c"))}),
            Codes{"contradiction /require/2"});
  EXPECT_EQ(errors_of({of<AllCondition>("all", {possible("a"), impossible("b")})}),
            (Codes{"never-passes /require/1/all/1", "never-passes /require/1"}));
  EXPECT_EQ(errors_of({of<AllCondition>(
                "all", {of<AllCondition>("inner", {possible("a"), unfailing("b")})})}),
            Codes{"never-fails /require/1/all/0/all/1"});
  EXPECT_EQ(errors_of({accuracy("a", Comparison::kLess, 1), accuracy("b", Comparison::kLess, 2)}),
            Codes());
}

TEST(LintLogic, OneWayOfSeveral_IsAWarning) {
  const Condition any = of<AnyCondition>("any", {possible("a"), impossible("b")});
  EXPECT_EQ(errors_of({any}), Codes());
  EXPECT_EQ(errors_of({of<AllCondition>("all", {any})}), Codes());
  EXPECT_EQ(errors_of({condition("two", AtLeastCondition{1, {possible("a"), impossible("b")}})}),
            Codes());
  // No way is left.
  EXPECT_EQ(errors_of({of<AnyCondition>("any", {impossible("a"), impossible("b")})}),
            Codes{"never-passes /require/1"});
  EXPECT_EQ(errors_of({negated("not", impossible("a"))}), Codes{"never-fails /require/1"});
  EXPECT_EQ(errors_of({negated("not", unfailing("a"))}), Codes{"never-passes /require/1"});
}

TEST(LintLogic, TestsThatExcludeEachOther_AreAnError_ButNotOfItems) {
  StatementCondition statement = stage_condition("train");
  const PredicateTest one{.pointer = "/parameters/x", .value = 1};
  const PredicateTest two{.pointer = "/parameters/x", .value = 2};
  statement.where = {one, two};
  EXPECT_EQ(errors_of({condition("it", statement)}),
            Codes{"contradiction /require/1/statement/where"});
  statement.where = {{.pointer = "/inputs", .items = ItemQuantifier::kNone, .where = {one, two}}};
  EXPECT_EQ(errors_of({condition("it", statement)}), Codes());
}

// Where nothing else is asked, the policy allows everything.
TEST(LintLogic, APolicyThatCannotFail_IsAnError) {
  const auto findings = lint(policy_with({unfailing("a")}));
  EXPECT_TRUE(std::ranges::any_of(findings, [](const Finding& one) {
    return one.level == Finding::Level::kError && one.code == "never-fails" &&
           one.where == "/require";
  }));
}

TEST(LintLogic, ConditionBesideItsNot_IsAContradiction) {
  EXPECT_EQ(codes_of({possible("a"), negated("b", possible("c"))}),
            Codes{"contradiction /require/2"});
  EXPECT_EQ(codes_of({of<AllCondition>("all", {possible("a")}), negated("b", possible("c"))}),
            Codes{"contradiction /require/2"});
  EXPECT_EQ(codes_of({of<AnyCondition>("any", {possible("a"), negated("b", possible("c"))})}),
            (Codes{"contradiction /require/1/any/1", "never-fails /require/1"}));
  EXPECT_EQ(codes_of({possible("a"), negated("b", condition("c", stage_condition("train")))}),
            Codes{});
}

TEST(LintLogic, DisjointRangesInTwoConditions_AreAContradiction) {
  const auto low = [](Quantifier quantifier) {
    return accuracy("low", Comparison::kLess, 0.5, quantifier);
  };
  const auto high = [](Quantifier quantifier) {
    return accuracy("high", Comparison::kGreaterEqual, 0.5, quantifier);
  };
  const Codes excluded = {"contradiction /require/2"};
  EXPECT_EQ(codes_of({low(Quantifier::kEvery), high(Quantifier::kEvery)}), excluded);
  EXPECT_EQ(codes_of({low(Quantifier::kAny), high(Quantifier::kEvery)}), excluded);
  EXPECT_EQ(codes_of({low(Quantifier::kLatest), high(Quantifier::kLatest)}), excluded);
  // Two statements may say so, or one that is not the newest.
  EXPECT_EQ(codes_of({low(Quantifier::kAny), high(Quantifier::kAny)}), Codes{});
  EXPECT_EQ(codes_of({low(Quantifier::kAny), high(Quantifier::kLatest)}), Codes{});
  EXPECT_EQ(codes_of({accuracy("low", Comparison::kLessEqual, 0.5), high(Quantifier::kEvery)}),
            Codes{});
  EXPECT_EQ(
      codes_of({of<AnyCondition>("any", {low(Quantifier::kEvery), high(Quantifier::kEvery)})}),
      Codes{});
}

// Findings are advice: what nobody signed yet must not cost seconds.
TEST(LintLogic, ComparisonsInAllOfAPolicy_AreBounded) {
  std::vector<Json> values(1023, 1);
  values.push_back(2);
  const auto beside = [&](std::size_t number) {
    std::vector<Condition> conditions;
    for (std::size_t i = 0; i < number; ++i) {
      StatementCondition statement = stage_condition("evaluate");
      statement.where.assign(16,
                             {.pointer = "/metrics/n/value", .op = Comparison::kEqual, .value = 2});
      statement.where[0].op = Comparison::kIn;
      statement.where[0].value = values;
      conditions.push_back(condition("c" + std::to_string(i), statement));
    }
    conditions.push_back(accuracy("low", Comparison::kLess, 0.5));
    conditions.push_back(accuracy("high", Comparison::kGreaterEqual, 0.5));
    return codes_of(std::move(conditions));
  };
  EXPECT_EQ(beside(1), Codes{"contradiction /require/3"});
  EXPECT_EQ(beside(60), Codes{}) << "the comparisons are used up";
}

TEST(LintLogic, ParametersNodesAndWindowsWithNothingInCommon_AreContradictions) {
  const Codes excluded = {"contradiction /require/2"};
  EXPECT_EQ(codes_of({condition("a", ParametersCondition{{"sha256"}, {}}),
                      condition("b", ParametersCondition{{"sha384"}, {}})}),
            excluded);
  EXPECT_EQ(codes_of({condition("a", ParametersCondition{{"sha256"}, {4096}}),
                      condition("b", ParametersCondition{{}, {4096, 8192}})}),
            Codes{});
  ParametersCondition gguf;
  gguf.formats = {ModelFormat::kGguf};
  ParametersCondition onnx;
  onnx.formats = {ModelFormat::kOnnx};
  EXPECT_EQ(codes_of({condition("a", gguf), condition("b", onnx)}), excluded);
  NodeCondition good;
  good.tcb_status = {"UpToDate"};
  NodeCondition old;
  old.tcb_status = {"OutOfDate"};
  EXPECT_EQ(codes_of({condition("a", good), condition("b", old)}), excluded);
  WindowCondition monday;
  monday.window.days = {true};
  WindowCondition tuesday;
  tuesday.window.days = {false, true};
  EXPECT_EQ(codes_of({condition("a", monday), condition("b", tuesday)}), excluded);
  WindowCondition morning;
  morning.window.to_minute = 720;
  WindowCondition evening;
  evening.window.from_minute = 720;
  EXPECT_EQ(codes_of({condition("a", morning), condition("b", evening)}), excluded);
  EXPECT_EQ(codes_of({condition("a", monday), condition("b", evening)}), Codes{});
}

TEST(LintLogic, ContradictionInsideOfItems_SaysNothingOfTheCondition) {
  StatementCondition statement = stage_condition("train");
  const PredicateTest one{.pointer = "/x", .value = 1};
  const PredicateTest two{.pointer = "/x", .value = 2};
  statement.where = {{.pointer = "/inputs", .items = ItemQuantifier::kNone, .where = {one, two}}};
  EXPECT_EQ(codes_of({of<AllCondition>("all", {condition("it", statement)})}),
            (Codes{"contradiction /require/1/all/0/statement/where/0/where"}));
  statement.where = {{.pointer = "/parameters/x", .value = 1},
                     {.pointer = "/parameters/x", .value = 2}};
  EXPECT_EQ(codes_of({of<AllCondition>("all", {condition("it", statement)})}),
            (Codes{"contradiction /require/1/all/0/statement/where", "never-passes /require/1"}));
}

TEST(LintLogic, MatchThatNothingMeets_IsFound) {
  PolicyDocument policy = valid_policy();
  policy.match.namespaces = {"prod-*", "stage"};
  policy.match.exclude_namespaces = {"prod*", "sta*"};
  EXPECT_EQ(codes_of(policy), Codes{"never-matches /match/exclude_namespaces"});
  policy.match.exclude_namespaces = {"prod-eu", "stage"};
  EXPECT_EQ(codes_of(policy), Codes{});
  policy.match.exclude_namespaces = {"*"};
  EXPECT_EQ(codes_of(policy), Codes{"never-matches /match/exclude_namespaces"});
}

TEST(LintLogic, LicencesOfWhichNoneIsLeft_CannotPass) {
  LineageCondition lineage;
  lineage.licences = LineageLicences{{"MIT"}, {"MIT"}};
  const auto refused = [&lineage] {
    const auto findings = lint(policy_with({manifest_condition(), condition("made", lineage)}));
    return std::ranges::any_of(findings, [](const Finding& finding) {
      return finding.level == Finding::Level::kError && finding.code == "never-passes" &&
             finding.where.starts_with("/require/1/lineage/licences");
    });
  };
  EXPECT_TRUE(refused());
  lineage.licences = LineageLicences{{"MIT", "Apache-2.0"}, {"MIT"}};
  EXPECT_FALSE(refused());
}

}  // namespace
}  // namespace assay::policy::test
