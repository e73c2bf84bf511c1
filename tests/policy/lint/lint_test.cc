// SPDX-License-Identifier: Apache-2.0
// Lint finds what a reviewer would want to know, and is silent about good policies.
#include "policy/lint.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "schemas/manifest.h"
#include "tests/policy/fixture.h"

namespace assay::policy::test {
namespace {

// Warnings and errors.
std::vector<std::string> warnings(const PolicyDocument& policy) {
  std::vector<std::string> texts;
  for (const Finding& finding : lint(policy)) {
    if (finding.level != Finding::Level::kNote) {
      texts.push_back(finding.condition + ": " + finding.text);
    }
  }
  return texts;
}

// The warning about condition `it` next to a manifest condition, or "" when there is none.
std::string warning_of(ConditionKind kind) {
  const auto found =
      warnings(policy_with({manifest_condition(), condition("it", std::move(kind))}));
  EXPECT_LE(found.size(), 1U) << testing::PrintToString(found);
  return found.empty() ? "" : found.front();
}

bool is_about(const std::string& warning, std::string_view text) {
  return warning.starts_with("it: ") && warning.find(text) != std::string::npos;
}

std::string warning_of_test(PredicateTest test, std::string_view predicate_type = {}) {
  StatementCondition statement = stage_condition("evaluate");
  if (!predicate_type.empty()) {
    statement.predicate_type = predicate_type;
    statement.stage.clear();
  }
  statement.where = {std::move(test)};
  return warning_of(statement);
}

TEST(Lint, GoodPolicy_HasOnlyNotes) {
  EXPECT_TRUE(warnings(valid_policy()).empty()) << testing::PrintToString(warnings(valid_policy()));
  const std::vector<Finding> findings = lint(valid_policy());
  ASSERT_EQ(findings.size(), 5U);
  EXPECT_TRUE(findings[0].condition.empty() && findings[0].text.starts_with("no images"));
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.level, Finding::Level::kNote);
    EXPECT_TRUE(finding.condition.empty() || finding.text == "decided at create");
  }
  EXPECT_EQ(findings[3].condition, "evaluated");
}

TEST(Lint, Levels_HaveNames) {
  EXPECT_EQ(name(Finding::Level::kNote), "note");
  EXPECT_EQ(name(Finding::Level::kWarning), "warning");
  EXPECT_EQ(name(Finding::Level::kError), "error");
}

TEST(Lint, PolicyThatMatchesEverything_IsNamed) {
  for (const WorkloadMatch& match : {WorkloadMatch{}, WorkloadMatch{{"prod", "*"}, {}, {}}}) {
    PolicyDocument policy = valid_policy();
    policy.match = match;
    ASSERT_EQ(warnings(policy).size(), 1U);
    EXPECT_EQ(warnings(policy).front(), ": matches every workload of every namespace");
  }
}

TEST(Lint, ModesThatDoNotEnforce_AreNamed) {
  for (const PolicyMode mode : {PolicyMode::kWarn, PolicyMode::kShadow}) {
    PolicyDocument policy = valid_policy();
    policy.mode = mode;
    ASSERT_EQ(warnings(policy).size(), 1U);
    EXPECT_TRUE(warnings(policy).front().starts_with(": mode " + std::string(name(mode))));
  }
}

TEST(Lint, PolicyThatRequiresNothing_IsNamed) { EXPECT_EQ(warnings(policy_with({})).size(), 1U); }

TEST(Lint, NoManifestConditionForSure_IsNamed) {
  const Condition evaluated = valid_policy().require[1];
  PolicyDocument watching = policy_with({evaluated});
  watching.mode = PolicyMode::kWarn;
  EXPECT_EQ(warnings(watching).size(), 2U);
  const Condition any = condition("any", AnyCondition{{manifest_condition(), evaluated}});
  EXPECT_EQ(warnings(policy_with({any})).size(), 1U);
  const Condition all = condition("all", AllCondition{{manifest_condition(), evaluated}});
  EXPECT_TRUE(warnings(policy_with({all})).empty());
}

TEST(Lint, ReleasesThatNobodyCanSign_AreAnError) {
  const auto errors = [](PolicyDocument policy) {
    policy.mode = PolicyMode::kWarn;
    policy.names.rule = NameRule::kRelease;
    const auto found = lint(policy);
    return std::count_if(found.begin(), found.end(), [](const Finding& one) {
      return one.level == Finding::Level::kError && one.text.starts_with("names: release");
    });
  };
  const Condition published = manifest_condition();
  EXPECT_EQ(errors(policy_with({valid_policy().require[1]})), 1);
  EXPECT_EQ(errors(policy_with({condition("not", NotCondition{{published}})})), 1);
  EXPECT_EQ(errors(policy_with({published})), 0);
}

TEST(Lint, MoreIdentitiesThanListed_CannotPass) {
  EXPECT_TRUE(is_about(warning_of(ManifestCondition{{2, {"alice"}}}), "cannot pass"));
  EXPECT_EQ(warning_of(ManifestCondition{{2, {"alice", "bob"}}}), "");
  StatementCondition approved = stage_condition("approve");
  approved.signers = {3, {"alice", "bob"}};
  EXPECT_TRUE(is_about(warning_of(approved), "cannot pass"));
}

TEST(Lint, IdentityListedTwice_IsNamed) {
  EXPECT_TRUE(is_about(warning_of(ManifestCondition{{1, {"alice", "alice"}}}), "twice"));
}

TEST(Lint, AtLeastZero_IsNamed) {
  EXPECT_TRUE(is_about(warning_of(ManifestCondition{{0, {}}}), "read as 1"));
}

TEST(Lint, EmptyCombinations_AreNamed) {
  EXPECT_TRUE(is_about(warning_of(AnyCondition{}), "cannot pass"));
  EXPECT_TRUE(is_about(warning_of(AllCondition{}), "cannot fail"));
  EXPECT_TRUE(is_about(warning_of(NotCondition{}), "cannot pass"));
  EXPECT_TRUE(is_about(warning_of(AtLeastCondition{0, {}}), "cannot fail"));
  EXPECT_TRUE(is_about(warning_of(AtLeastCondition{1, {}}), "cannot pass"));
}

TEST(Lint, Parameters_ThatConstrainNothingOrEverything_AreNamed) {
  EXPECT_TRUE(is_about(warning_of(ParametersCondition{}), "cannot fail"));
  EXPECT_TRUE(is_about(warning_of(ParametersCondition{{"md5"}, {}}), "cannot pass"));
  EXPECT_TRUE(is_about(warning_of(ParametersCondition{{}, {5000}}), "cannot pass"));
  EXPECT_EQ(warning_of(ParametersCondition{{"sha256"}, {16384}}), "");
  EXPECT_TRUE(is_about(warning_of(ParametersCondition{{}, {}, std::vector<std::string>{"*.py"}}),
                       "leave out"));
  EXPECT_EQ(warning_of(ParametersCondition{{}, {}, std::vector<std::string>{"/cache"}}), "");
}

TEST(Lint, FormatsThatRefuseOrAcceptTooMuch_AreNamed) {
  ParametersCondition formats;
  formats.formats = {ModelFormat::kSafetensors};
  EXPECT_TRUE(is_about(warning_of(formats), "config.json"));
  formats.formats.push_back(ModelFormat::kOther);
  EXPECT_EQ(warning_of(formats), "");
  EXPECT_TRUE(is_about(warning_of(NotCondition{{condition("it", formats)}}), "below a not"));
}

TEST(Lint, StatementKindsThatCannotExist_AreNamed) {
  StatementCondition statement;
  statement.predicate_type = kManifestPredicateType;
  EXPECT_TRUE(is_about(warning_of(statement), "use a manifest condition"));
  EXPECT_TRUE(is_about(warning_of(stage_condition("")), "has a stage"));
  statement.predicate_type = kLicenceType;
  EXPECT_EQ(warning_of(statement), "");
  statement.stage = "train";
  EXPECT_TRUE(is_about(warning_of(statement), "cannot pass"));
}

TEST(Lint, UnlikelyPointers_AreNamed) {
  const auto equal = [](const char* pointer) {
    return PredicateTest{pointer, Comparison::kEqual, 1};
  };
  EXPECT_EQ(warning_of_test(equal("/metrics/accuracy/value")), "");
  EXPECT_EQ(warning_of_test(equal("/parameters/epochs")), "");
  EXPECT_EQ(warning_of_test(equal("/score"), kLicenceType), "");
  EXPECT_TRUE(is_about(warning_of_test(equal("")), "cannot pass"));
  EXPECT_TRUE(is_about(warning_of_test(equal("metrics")), "cannot pass"));
  EXPECT_TRUE(is_about(warning_of_test(equal("/predicate/metrics")), "inside the predicate"));
  EXPECT_TRUE(is_about(warning_of_test(equal("/accuracy")), "no member accuracy"));
  EXPECT_TRUE(is_about(warning_of_test(equal("/metrics/accuracy")), "a value and a unit"));
  EXPECT_TRUE(is_about(warning_of_test(equal("/metrics/accuracy/val")), "a value and a unit"));
  EXPECT_TRUE(is_about(warning_of_test(equal("/metrics")), "a value and a unit"));
}

TEST(Lint, ValuesThatCannotCompare_AreNamed) {
  const std::string_view type = kLicenceType;
  EXPECT_TRUE(is_about(warning_of_test({"/a", Comparison::kLess, "x"}, type), "only numbers"));
  EXPECT_TRUE(is_about(warning_of_test({"/a", Comparison::kEqual, {1}}, type), "compare with"));
  EXPECT_TRUE(is_about(warning_of_test({"/a", Comparison::kIn, 1}, type), "needs a list"));
  EXPECT_TRUE(
      is_about(warning_of_test({"/a", Comparison::kIn, Json::array()}, type), "needs a list"));
  EXPECT_EQ(warning_of_test({"/a", Comparison::kIn, {1, "x"}}, type), "");
  EXPECT_EQ(warning_of_test({"/a", Comparison::kGreaterEqual, 1.5}, type), "");
}

TEST(Lint, TestsThatExcludeEachOther_AreNamed) {
  StatementCondition statement;
  statement.predicate_type = kLicenceType;
  statement.where = {{"/a", Comparison::kEqual, 1}, {"/a", Comparison::kEqual, 2}};
  EXPECT_TRUE(is_about(warning_of(statement), "exclude each other at /a"));
  statement.where = {{"/a", Comparison::kEqual, 1}, {"/a", Comparison::kEqual, 1.0}};
  EXPECT_EQ(warning_of(statement), "");
}

TEST(Lint, AgeZero_IsNamed) {
  StatementCondition statement = stage_condition("approve");
  statement.max_age_seconds = 0;
  EXPECT_TRUE(is_about(warning_of(statement), "cannot pass"));
}

bool has_note(const PolicyDocument& policy, std::string_view text) {
  const auto findings = lint(policy);
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
    return finding.level == Finding::Level::kNote && finding.text.find(text) != std::string::npos;
  });
}

TEST(Lint, Surprises_AreNoted) {
  StatementCondition statement = stage_condition("approve");
  statement.quantifier = Quantifier::kLatest;
  statement.signers.at_least = 2;
  EXPECT_TRUE(has_note(policy_with({condition("it", statement)}), "newest statement"));
  statement.quantifier = Quantifier::kAny;
  statement.where = {{"/comment", Comparison::kEqual, "x"}};
  EXPECT_TRUE(has_note(policy_with({condition("it", statement)}), "ignored"));
  NotCondition negation;
  negation.of = {condition("it", statement)};
  EXPECT_TRUE(has_note(policy_with({condition("not", negation)}), "below a not"));
}

}  // namespace
}  // namespace assay::policy::test
