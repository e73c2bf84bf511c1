// SPDX-License-Identifier: Apache-2.0
// Verdicts: modes, reasons, preconditions, combined conditions, decision points.
#include "policy/evaluate.h"

#include <gtest/gtest.h>

#include "schemas/core/sha.h"
#include "tests/policy/fixture.h"

namespace assay::policy::test {
namespace {

using Codes = std::vector<Reason>;

// Leaves with a known outcome for valid_facts().
ConditionKind passing() { return ManifestCondition{}; }
ConditionKind failing() { return ManifestCondition{{2, {}}}; }   // signers-insufficient
ConditionKind missing() { return stage_condition("quantize"); }  // statement-missing
ConditionKind broken() {                                         // value-missing, an error
  StatementCondition statement = stage_condition("train");
  statement.where = {{"/nope", Comparison::kEqual, 1}};
  return statement;
}

// A combined condition over parts named a, b, c ...
template <typename Combined>
Condition combined(std::string_view id, std::vector<ConditionKind> kinds) {
  Combined parts{};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    parts.of.push_back({std::string(id) + "." + static_cast<char>('a' + i), std::move(kinds[i])});
  }
  return condition(id, std::move(parts));
}

Condition negation(std::string_view id, ConditionKind kind) {
  return combined<NotCondition>(id, {std::move(kind)});
}

// Signers may speak about every name, so that no policy has to believe one.
Facts facts_for_all() {
  Facts facts = valid_facts();
  for (StatementFact& statement : facts.statements) {
    statement.signers.front().key.roles.front().name_space = "*";
  }
  return facts;
}

PolicyDocument in_mode(PolicyMode mode, std::vector<Condition> require) {
  PolicyDocument policy = policy_with(std::move(require));
  policy.mode = mode;
  policy.name += "-" + std::string(name(mode));
  return policy;
}

TEST(Evaluate, EverythingInOrder_Allows) {
  const Verdict verdict = decide(valid_policy(), valid_facts());
  EXPECT_TRUE(verdict.allowed);
  EXPECT_TRUE(verdict.reasons.empty());
  EXPECT_TRUE(verdict.warnings.empty());
  ASSERT_EQ(verdict.policies.size(), 1U);
  const PolicyResult& policy = verdict.policies.front();
  EXPECT_EQ(policy.name, "prod-llm");
  EXPECT_EQ(policy.version, 3U);
  EXPECT_EQ(policy.id, active(valid_policy()).id);
  EXPECT_EQ(policy.outcome, Outcome::kPass);
  EXPECT_EQ(policy.conditions.size(), 4U);  // with ignore-accepted
  EXPECT_EQ(policy.conditions[1].id, "evaluated");
}

TEST(Evaluate, NoPolicy_Denies) {
  const Verdict verdict = decide(std::vector<ActivePolicy>{}, valid_facts());
  EXPECT_FALSE(verdict.allowed);
  EXPECT_EQ(verdict.reasons, Codes{Reason::kNoMatchingPolicy});
}

TEST(Evaluate, PolicyForOtherWorkloads_IsNoPolicy) {
  PolicyDocument policy = valid_policy();
  policy.match.namespaces = {"test"};
  const Verdict verdict = decide(policy, valid_facts());
  EXPECT_EQ(verdict.reasons, Codes{Reason::kNoMatchingPolicy});
  EXPECT_TRUE(verdict.policies.empty());
}

TEST(Evaluate, EveryFailedCondition_IsReported) {
  Facts facts = valid_facts();
  facts.manifests.clear();
  facts.statements.clear();
  const Verdict verdict = decide(valid_policy(), facts);
  EXPECT_FALSE(verdict.allowed);
  EXPECT_EQ(verdict.reasons, (Codes{Reason::kManifestMissing, Reason::kStatementMissing}));
  for (const ConditionResult& result : verdict.policies.front().conditions) {
    EXPECT_EQ(result.outcome, Outcome::kFail);
  }
}

TEST(Evaluate, SeveralEnforcePolicies_MustAllPass) {
  const PolicyDocument good = in_mode(PolicyMode::kEnforce, {condition("a", passing())});
  const PolicyDocument bad = in_mode(PolicyMode::kEnforce, {condition("b", failing())});
  EXPECT_TRUE(decide(std::vector{active(good), active(good)}, valid_facts()).allowed);
  for (const auto& policies :
       {std::vector{active(good), active(bad)}, std::vector{active(bad), active(good)}}) {
    const Verdict verdict = decide(policies, valid_facts());
    EXPECT_FALSE(verdict.allowed);
    EXPECT_EQ(verdict.reasons, Codes{Reason::kSignersInsufficient});
    EXPECT_EQ(verdict.policies.size(), 2U);
    EXPECT_EQ(verdict.policies.front().id, policies.front().id);
  }
}

TEST(Evaluate, ErrorInAnEnforcePolicy_Denies) {
  const Verdict verdict = decide(policy_with({condition("a", broken())}), facts_for_all());
  EXPECT_FALSE(verdict.allowed);
  EXPECT_EQ(verdict.reasons, Codes{Reason::kValueMissing});
  EXPECT_EQ(verdict.policies.front().outcome, Outcome::kError);
}

TEST(Evaluate, WarnAlone_AllowsWithWarnings) {
  const PolicyDocument policy =
      in_mode(PolicyMode::kWarn,
              {condition("a", passing()), condition("b", failing()), condition("c", broken())});
  const Verdict verdict = decide(policy, facts_for_all());
  EXPECT_TRUE(verdict.allowed);
  EXPECT_TRUE(verdict.reasons.empty());
  EXPECT_EQ(verdict.warnings,
            (std::vector<std::string>{"policy prod-llm-warn v3, condition b: signers-insufficient",
                                      "policy prod-llm-warn v3, condition c: value-missing"}));
  EXPECT_EQ(verdict.policies.front().outcome, Outcome::kFail);
}

TEST(Evaluate, WarnBesideEnforce_OnlyWarns) {
  const PolicyDocument warn = in_mode(PolicyMode::kWarn, {condition("a", failing())});
  const PolicyDocument good = in_mode(PolicyMode::kEnforce, {condition("a", passing())});
  const PolicyDocument bad = in_mode(PolicyMode::kEnforce, {condition("a", missing())});
  const Verdict allowed = decide(std::vector{active(warn), active(good)}, valid_facts());
  EXPECT_TRUE(allowed.allowed);
  EXPECT_EQ(allowed.warnings.size(), 1U);
  const Verdict denied = decide(std::vector{active(warn), active(bad)}, valid_facts());
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ(denied.reasons, Codes{Reason::kStatementMissing});
}

TEST(Evaluate, ShadowAlone_IsNoMatchingPolicy) {
  const Verdict verdict =
      decide(in_mode(PolicyMode::kShadow, {condition("a", passing())}), valid_facts());
  EXPECT_FALSE(verdict.allowed);
  EXPECT_EQ(verdict.reasons, Codes{Reason::kNoMatchingPolicy});
  ASSERT_EQ(verdict.policies.size(), 1U);
  EXPECT_EQ(verdict.policies.front().outcome, Outcome::kPass);
}

TEST(Evaluate, ShadowThatFails_ChangesNothing) {
  const PolicyDocument shadow = in_mode(PolicyMode::kShadow, {condition("a", failing())});
  const Verdict verdict =
      decide(std::vector{active(shadow), active(valid_policy())}, valid_facts());
  EXPECT_TRUE(verdict.allowed);
  EXPECT_TRUE(verdict.warnings.empty());
  EXPECT_EQ(verdict.policies.front().outcome, Outcome::kFail);
}

TEST(Evaluate, LongWarning_IsCutBetweenCharacters) {
  PolicyDocument policy = in_mode(PolicyMode::kWarn, {condition("b", failing())});
  policy.name = "x";
  for (int i = 0; i < 100; ++i) {
    policy.name += "\u00e9";
  }
  const std::string warning = decide(policy, valid_facts()).warnings.front();
  EXPECT_LE(warning.size(), 120U);
  EXPECT_TRUE(warning.ends_with("..."));
  EXPECT_TRUE(is_utf8(warning));
}

// --- preconditions

Verdict with_precondition(Outcome outcome, std::optional<Reason> code, PolicyMode mode) {
  const std::vector policies = {active(in_mode(mode, {condition("a", passing())}))};
  return evaluate(policies, workload(), one(valid_facts()),
                  {{"model-reference", outcome, code, nullptr, nullptr, {}, {}}},
                  DecisionPoint::kCreate, now());
}

TEST(Preconditions, Passing_ArePartOfTheVerdict) {
  const Verdict verdict = with_precondition(Outcome::kPass, std::nullopt, PolicyMode::kEnforce);
  EXPECT_TRUE(verdict.allowed);
  EXPECT_EQ(verdict.preconditions.size(), 1U);
}

TEST(Preconditions, AnythingButPass_Denies) {
  for (const Outcome outcome : {Outcome::kFail, Outcome::kError, Outcome::kDeferred}) {
    const Verdict verdict =
        with_precondition(outcome, Reason::kReferenceUnbound, PolicyMode::kEnforce);
    EXPECT_FALSE(verdict.allowed);
    EXPECT_EQ(verdict.reasons, Codes{Reason::kReferenceUnbound});
  }
}

TEST(Preconditions, FailedWithoutCode_StillHasAReason) {
  const Verdict verdict = with_precondition(Outcome::kFail, std::nullopt, PolicyMode::kEnforce);
  EXPECT_EQ(verdict.reasons, Codes{Reason::kConditionUndecided});
}

TEST(Preconditions, FailedUnderWarn_OnlyWarns) {
  const Verdict verdict =
      with_precondition(Outcome::kFail, Reason::kReferenceUnbound, PolicyMode::kWarn);
  EXPECT_TRUE(verdict.allowed);
  EXPECT_EQ(verdict.warnings,
            std::vector<std::string>{"precondition model-reference: reference-unbound"});
}

TEST(Preconditions, FailedWithoutPolicy_IsBesideNoMatchingPolicy) {
  const Verdict verdict =
      with_precondition(Outcome::kFail, Reason::kReferenceUnbound, PolicyMode::kShadow);
  EXPECT_FALSE(verdict.allowed);
  EXPECT_EQ(verdict.reasons, (Codes{Reason::kReferenceUnbound, Reason::kNoMatchingPolicy}));
}

TEST(Preconditions, ComeBeforeConditionsAmongTheReasons) {
  const std::vector policies = {active(policy_with({condition("a", failing())}))};
  const Verdict verdict =
      evaluate(policies, workload(), one(valid_facts()),
               {{"r", Outcome::kFail, Reason::kReferenceUnbound, {}, {}, {}, {}}},
               DecisionPoint::kCreate, now());
  EXPECT_EQ(verdict.reasons, (Codes{Reason::kReferenceUnbound, Reason::kSignersInsufficient}));
}

TEST(Preconditions, NoArtifactAndNobodySaidSo_Denies) {
  Facts facts = valid_facts();
  facts.artifact.reset();
  const Verdict verdict = decide(valid_policy(), facts);
  EXPECT_FALSE(verdict.allowed);
  EXPECT_EQ(verdict.reasons, (Codes{Reason::kModelReferenceMissing, Reason::kStatementMissing}));
  EXPECT_EQ(verdict.preconditions.size(), 1U);
}

TEST(Preconditions, NoArtifactAndSaidSo_IsNotSaidTwice) {
  Facts facts = valid_facts();
  facts.artifact.reset();
  const std::vector policies = {active(valid_policy())};
  const Verdict verdict = evaluate(
      policies, workload(), one(facts),
      {{"model-reference", Outcome::kFail, Reason::kModelReferenceAmbiguous, {}, {}, {}, {}}},
      DecisionPoint::kCreate, now());
  EXPECT_EQ(verdict.reasons, (Codes{Reason::kModelReferenceAmbiguous, Reason::kStatementMissing}));
  EXPECT_EQ(verdict.preconditions.size(), 1U);
}

// --- combined conditions

ConditionResult judge_one(Condition one) {
  return decide(policy_with({std::move(one)}), facts_for_all()).policies.front().conditions.front();
}

TEST(Combined, Parts_AreAllReported) {
  const ConditionResult result =
      judge_one(combined<AnyCondition>("any", {passing(), failing(), broken()}));
  EXPECT_EQ(result.outcome, Outcome::kPass);
  EXPECT_EQ(result.code, std::nullopt);
  ASSERT_EQ(result.parts.size(), 3U);
  EXPECT_EQ(result.parts[0].id, "any.a");
  EXPECT_EQ(result.parts[1].outcome, Outcome::kFail);
  EXPECT_EQ(result.parts[2].outcome, Outcome::kError);
}

TEST(Combined, Outcomes_HaveTheirCodes) {
  const ConditionResult failed = judge_one(combined<AllCondition>("all", {passing(), failing()}));
  EXPECT_EQ(failed.code, Reason::kConditionFailed);
  EXPECT_EQ(failed.expected, (Json{{"at_least", 2}}));
  EXPECT_EQ(failed.actual, (Json{{"passed", 1}}));
  const ConditionResult undecided = judge_one(combined<AllCondition>("all", {passing(), broken()}));
  EXPECT_EQ(undecided.outcome, Outcome::kError);
  EXPECT_EQ(undecided.code, Reason::kConditionUndecided);
}

TEST(Combined, AtLeast_CountsPassingParts) {
  AtLeastCondition two_of{2, {condition("a", passing()), condition("b", failing())}};
  EXPECT_EQ(judge_one(condition("x", two_of)).outcome, Outcome::kFail);
  two_of.of.push_back(condition("c", passing()));
  const ConditionResult result = judge_one(condition("x", two_of));
  EXPECT_EQ(result.outcome, Outcome::kPass);
  EXPECT_EQ(result.expected, (Json{{"at_least", 2}}));
}

TEST(Combined, ReasonsOfAFailedCondition_AreThoseOfItsLeaves) {
  const Verdict verdict = decide(
      policy_with({combined<AllCondition>("all", {passing(), failing(), missing(), broken()})}),
      facts_for_all());
  EXPECT_EQ(verdict.reasons, (Codes{Reason::kSignersInsufficient, Reason::kStatementMissing,
                                    Reason::kValueMissing}));
}

TEST(Combined, FailedPartOfAPassingCondition_IsNoReason) {
  const Verdict verdict = decide(policy_with({combined<AnyCondition>("any", {failing(), passing()}),
                                              condition("b", missing())}),
                                 valid_facts());
  EXPECT_EQ(verdict.reasons, Codes{Reason::kStatementMissing});
}

TEST(Not, OfAPass_FailsWithItsOwnReason) {
  const Verdict verdict = decide(policy_with({negation("not", passing())}), valid_facts());
  EXPECT_FALSE(verdict.allowed);
  EXPECT_EQ(verdict.reasons, Codes{Reason::kConditionFailed});
}

// Known, and not as required; negation_test.cc has what else may fail.
ConditionKind other_parameters() { return ParametersCondition{{"sha384"}, {}}; }

TEST(Not, OfAFail_Passes) {
  EXPECT_TRUE(decide(policy_with({negation("not", other_parameters())}), valid_facts()).allowed);
}

TEST(Not, OfAnError_IsAnError) {
  const Verdict verdict = decide(policy_with({negation("not", broken())}), facts_for_all());
  EXPECT_FALSE(verdict.allowed);
  EXPECT_EQ(verdict.reasons, Codes{Reason::kValueMissing});
}

// That nothing is known does not show that nothing is there.
TEST(Not, OfAMissingThing_IsAnError) {
  const ConditionResult result = judge_one(negation("not", missing()));
  EXPECT_EQ(result.outcome, Outcome::kError);
  EXPECT_EQ(result.parts.front().outcome, Outcome::kError);
  EXPECT_EQ(result.parts.front().code, Reason::kStatementMissing);
  Facts facts = valid_facts();
  facts.manifests.clear();
  const Verdict verdict = decide(policy_with({negation("not", failing())}), facts);
  EXPECT_FALSE(verdict.allowed);
  EXPECT_EQ(verdict.reasons, Codes{Reason::kManifestMissing});
}

TEST(Not, AroundACombination_SeesMissingThingsInside) {
  NotCondition outer;
  outer.of = {combined<AnyCondition>("inner", {missing(), other_parameters()})};
  EXPECT_EQ(judge_one(condition("not", outer)).outcome, Outcome::kError);
  outer.of = {
      combined<AllCondition>("inner", {missing(), other_parameters()})};  // fails without it, too
  EXPECT_EQ(judge_one(condition("not", outer)).outcome, Outcome::kPass);
}

TEST(Not, Twice_KeepsAMissingThingAnError) {
  NotCondition outer;
  outer.of = {negation("inner", missing())};
  EXPECT_EQ(judge_one(condition("not", outer)).outcome, Outcome::kError);
}

TEST(Not, MissingThingBesideIt_IsAnOrdinaryFailure) {
  const ConditionResult result = judge_one(combined<AllCondition>("all", {missing(), passing()}));
  EXPECT_EQ(result.parts.front().outcome, Outcome::kFail);
}

// --- decision points

PointTable statements_at(DecisionPoint point) {
  PointTable points = kPoints;
  points.at(ConditionKind(StatementCondition{}).index()) = point;
  return points;
}

Verdict evaluate_points(const PointTable& points, PolicyDocument policy, DecisionPoint asked) {
  const std::vector policies = {active(std::move(policy))};
  return evaluate_with(points, policies, workload(), one(valid_facts()), {}, asked, now());
}

TEST(Points, EveryKindOfToday_BelongsToCreate) {
  for (const Condition& one : valid_policy().require) {
    EXPECT_EQ(point_of(one), DecisionPoint::kCreate);
  }
  EXPECT_EQ(point_of(combined<AllCondition>("all", {passing(), missing()})),
            DecisionPoint::kCreate);
}

TEST(Points, ConditionOfALaterPoint_IsDeferredAndDoesNotDeny) {
  const Verdict verdict = evaluate_points(
      statements_at(DecisionPoint::kBind),
      policy_with({condition("a", passing()), condition("b", missing())}), DecisionPoint::kCreate);
  EXPECT_TRUE(verdict.allowed);
  const ConditionResult& result = verdict.policies.front().conditions.at(1);
  EXPECT_EQ(result.outcome, Outcome::kDeferred);
  EXPECT_EQ(result.code, Reason::kConditionDeferred);
  EXPECT_EQ(verdict.policies.front().outcome, Outcome::kDeferred);
}

TEST(Points, AtItsOwnPointAndAfter_AConditionIsJudged) {
  const PolicyDocument policy = policy_with({condition("b", missing())});
  for (const DecisionPoint asked : {DecisionPoint::kBind, DecisionPoint::kServe}) {
    EXPECT_FALSE(evaluate_points(statements_at(DecisionPoint::kBind), policy, asked).allowed);
  }
}

TEST(Points, DeferredPart_DoesNotHideAFailure) {
  const PolicyDocument policy =
      policy_with({combined<AllCondition>("all", {missing(), failing()})});
  const Verdict verdict =
      evaluate_points(statements_at(DecisionPoint::kServe), policy, DecisionPoint::kCreate);
  EXPECT_FALSE(verdict.allowed);
  EXPECT_EQ(verdict.reasons, Codes{Reason::kSignersInsufficient});
}

TEST(Points, NotOfADeferredCondition_StaysDeferred) {
  const Verdict verdict =
      evaluate_points(statements_at(DecisionPoint::kServe),
                      policy_with({negation("not", missing())}), DecisionPoint::kCreate);
  EXPECT_TRUE(verdict.allowed);
  EXPECT_EQ(verdict.policies.front().conditions.front().outcome, Outcome::kDeferred);
}

TEST(Points, DeferredConditionOfAWarnPolicy_IsNoWarning) {
  const Verdict verdict = evaluate_points(statements_at(DecisionPoint::kServe),
                                          in_mode(PolicyMode::kWarn, {condition("b", missing())}),
                                          DecisionPoint::kCreate);
  EXPECT_TRUE(verdict.warnings.empty());
}

}  // namespace
}  // namespace assay::policy::test
