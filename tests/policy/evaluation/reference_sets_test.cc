// SPDX-License-Identifier: Apache-2.0
// Reference sets: values in the place of names, and errors where there are none.
#include "policy/reference_sets.h"

#include <gtest/gtest.h>

#include "policy/as_read.h"
#include "policy/lint.h"
#include "tests/policy/fixture.h"

namespace assay::policy::test {
namespace {

ReferenceSets sets_of(std::vector<ReferenceSet> list) {
  ReferenceSets sets;
  std::uint64_t number = 900;
  for (ReferenceSet& set : list) {
    std::string name = set.name;
    sets.emplace(std::move(name), ActiveSet{statement_id(number++), std::move(set)});
  }
  return sets;
}

ReferenceSet people(std::vector<Json> values, std::string name = "managers") {
  return {std::move(name), 1, "", SetKind::kIdentities, std::move(values)};
}

// As parse_policy() reads it.
PolicyDocument parsed(const std::vector<Condition>& require) {
  const std::string text = canonical_json(to_json(policy_with(require))).value();
  auto policy = parse_policy(as_bytes(text));
  EXPECT_TRUE(policy) << to_string(policy.error());
  return *std::move(policy);
}

StatementCondition approved_by(std::vector<std::string> identities, std::size_t at_least = 1) {
  StatementCondition condition = stage_condition("approve");
  condition.signers = {at_least, std::move(identities)};
  return condition;
}

// Of a policy with a manifest condition besides.
ConditionResult judge_with(ConditionKind kind, const ReferenceSets& sets,
                           const Facts& facts = valid_facts()) {
  const PolicyDocument policy = parsed({manifest_condition(), condition("it", std::move(kind))});
  return decide(std::vector{with_sets(statement_id(1), policy, sets)}, facts)
      .policies.front()
      .conditions.at(1);
}

TEST(ReferenceSets, NamedSigners_AreThoseOfTheSet) {
  const auto by_set = approved_by({"set:managers"}, 2);
  EXPECT_EQ(judge_with(by_set, sets_of({people({"carol", "dave"})})).outcome, Outcome::kPass);
  const ConditionResult fewer = judge_with(by_set, sets_of({people({"carol", "frank"})}));
  EXPECT_EQ(fewer.outcome, Outcome::kFail);
  EXPECT_EQ(fewer.code, Reason::kSignersInsufficient);
  // Beside others, and two sets in one list.
  EXPECT_EQ(
      judge_with(approved_by({"dave", "set:managers"}, 2), sets_of({people({"carol"})})).outcome,
      Outcome::kPass);
  EXPECT_EQ(judge_with(approved_by({"set:a", "set:b"}, 2),
                       sets_of({people({"carol"}, "a"), people({"dave", "carol"}, "b")}))
                .outcome,
            Outcome::kPass);
}

TEST(ReferenceSets, MissingOrOfAnotherKind_IsAnErrorWhateverElseIsListed) {
  const auto listed = approved_by({"carol", "set:managers"});
  const ConditionResult missing = judge_with(listed, {});
  EXPECT_EQ(missing.outcome, Outcome::kError);
  EXPECT_EQ(missing.code, Reason::kReferenceSetMissing);
  EXPECT_EQ(missing.expected["reference_set"], "set:managers");
  const ReferenceSet licences{"managers", 1, "", SetKind::kLicences, {"MIT"}};
  const ConditionResult wrong = judge_with(listed, sets_of({licences}));
  EXPECT_EQ(wrong.outcome, Outcome::kError);
  EXPECT_EQ(wrong.code, Reason::kReferenceSetMismatch);
  // The honest neighbour names no set.
  EXPECT_EQ(judge_with(approved_by({"carol"}), {}).outcome, Outcome::kPass);
}

// Whoever evaluates a policy without its sets gets errors, not lists without the sets.
TEST(ReferenceSets, PolicyThatNobodyGaveValues_IsAnError) {
  LineageCondition lineage;
  lineage.deny.identities = {"set:fired"};
  const PolicyDocument policy =
      parsed({manifest_condition(), condition("made", lineage),
              condition("approved", approved_by({"carol", "set:managers"}))});
  const Verdict verdict = decide(policy, valid_facts());
  EXPECT_FALSE(verdict.allowed);
  EXPECT_EQ(verdict.policies.front().conditions.at(1).code, Reason::kReferenceSetMissing);
  EXPECT_EQ(verdict.policies.front().conditions.at(2).code, Reason::kReferenceSetMissing);
}

TEST(ReferenceSets, BelowANot_AMissingSetStaysAnError) {
  NotCondition negation;
  negation.of = {condition("part", approved_by({"set:managers"}))};
  const ConditionResult result = judge_with(negation, {});
  EXPECT_EQ(result.outcome, Outcome::kError);
  EXPECT_EQ(result.parts.front().code, Reason::kReferenceSetMissing);
}

// none_of a condition whose people are not known: nobody can tell who is independent.
TEST(ReferenceSets, RelationToAConditionWithoutItsSet_IsUnknown) {
  StatementCondition evaluated = stage_condition("evaluate");
  evaluated.signers.identities = {"eve", "set:evaluators"};
  StatementCondition approved = stage_condition("approve");
  approved.signers.none_of = {"evaluated"};
  const PolicyDocument policy = parsed(
      {manifest_condition(), condition("evaluated", evaluated), condition("approved", approved)});
  const auto approved_with = [&](const ReferenceSets& sets) {
    return decide(std::vector{with_sets(statement_id(1), policy, sets)}, valid_facts())
        .policies.front()
        .conditions.at(2);
  };
  EXPECT_EQ(approved_with({}).code, Reason::kSignersRelationUnknown);
  EXPECT_EQ(approved_with(sets_of({people({"eve"}, "evaluators")})).outcome, Outcome::kPass);
}

TEST(ReferenceSets, ValuesOfAPredicate_ComeFromAnySet) {
  StatementCondition evaluated = stage_condition("evaluate");
  evaluated.where = {{.pointer = "/metrics/accuracy/value",
                      .op = Comparison::kIn,
                      .value = Json::array({"set:scores"})}};
  const ReferenceSet good{"scores", 1, "", SetKind::kValues, {0.9, "best"}};
  const ReferenceSet other{"scores", 1, "", SetKind::kValues, {0.8}};
  EXPECT_EQ(judge_with(evaluated, sets_of({good})).outcome, Outcome::kPass);
  EXPECT_EQ(judge_with(evaluated, sets_of({other})).code, Reason::kPredicateMismatch);
  EXPECT_EQ(judge_with(evaluated, {}).code, Reason::kReferenceSetMissing);
  // Only an entry of a list names a set.
  evaluated.where.front().op = Comparison::kEqual;
  evaluated.where.front().value = "set:scores";
  EXPECT_EQ(judge_with(evaluated, {}).outcome, Outcome::kError);  // a text beside a number
  EXPECT_NE(judge_with(evaluated, {}).code, Reason::kReferenceSetMissing);
}

// Each list that can name a set, with the pointer to it.
TEST(ReferenceSets, EveryListThatCanNameOne_IsFoundAndReplaced) {
  StatementCondition statement = approved_by({"set:s"});
  statement.considered = {"set:s"};
  statement.evidence.emplace();
  statement.evidence->anchors = {"set:s"};
  statement.evidence->reference_values["mrtd"] = {"set:s"};
  statement.where = {
      {.pointer = "/list",
       .items = ItemQuantifier::kAny,
       .where = {{.pointer = "/x", .op = Comparison::kIn, .value = Json::array({"set:s"})}}}};
  LineageCondition lineage;
  lineage.leaves = {"set:s"};
  lineage.edges = {{"train", "", 1, {"set:s"}}};
  lineage.edges[0].evidence = statement.evidence;
  lineage.deny = {{"set:s"}, {"set:s"}, {"set:s"}, {"set:s"}};
  lineage.licences = LineageLicences{{"set:s"}, {"set:s"}};
  NodeCondition node;
  node.anchors = {"set:s"};
  const Condition all[] = {
      condition("manifest", ManifestCondition{{1, {"set:s"}}}), condition("statement", statement),
      condition("node", node), condition("lineage", lineage),
      condition("request", RequestCondition{{"set:s"}, {"set:s"}, {"set:s"}, {"set:s"}})};
  AllCondition nested;
  nested.of.assign(std::begin(all), std::end(all));
  const PolicyDocument policy = parsed({condition("all", nested)});
  std::vector<std::string> places;
  for (const OpenPlace& open : open_places(policy, {})) {
    EXPECT_EQ(open.code, Reason::kReferenceSetMissing);
    const Json document = to_json(policy);
    EXPECT_EQ(document.at(Json::json_pointer(open.where)), "set:s") << open.where;
    places.push_back(open.where);
  }
  EXPECT_EQ(places.size(), 21U) << testing::PrintToString(places);
  EXPECT_EQ(sets_named_in(policy), std::set<std::string>{"s"});
}

TEST(ReferenceSets, AfterReplacement_NothingNamesASetAndTheIdsAreKept) {
  const PolicyDocument policy =
      parsed({manifest_condition(), condition("a", approved_by({"set:managers"})),
              condition("b", approved_by({"set:others"}))});
  const ReferenceSets sets =
      sets_of({people({"carol"}), people({"dave"}, "others"), people({"x"}, "unused")});
  const ActivePolicy resolved = with_sets(statement_id(1), policy, sets);
  std::vector<StatementId> used = {sets.at("managers").id, sets.at("others").id};
  std::ranges::sort(used);
  EXPECT_EQ(resolved.sets, used);
  EXPECT_TRUE(sets_named_in(resolved.document).empty());
  EXPECT_EQ(to_json(*resolved.written), to_json(policy));
  const ActivePolicy again = with_other_sets(resolved, sets_of({people({"eve"})}));
  EXPECT_FALSE(again.document.require.at(1).open_set);
  EXPECT_EQ(again.document.require.at(2).open_set->code, Reason::kReferenceSetMissing);
  EXPECT_EQ(again.sets.size(), 1U);
  EXPECT_FALSE(with_sets(statement_id(1), parsed({manifest_condition()}), sets).written);
}

// A pattern that only another version of a set has was not kept of the request.
TEST(ReferenceSets, RequestReadUnderOneVersion_IsNotEnoughForAnother) {
  RequestCondition asked;
  asked.groups = {"set:teams"};
  const PolicyDocument policy = parsed({condition("asked", asked)});
  const auto with = [&](const char* group) {
    return with_sets(statement_id(1), policy,
                     sets_of({{"teams", 1, "", SetKind::kPatterns, {group}}}));
  };
  const std::vector before = {with("ml-*")};
  Workload workload = test::workload();
  workload.requester.groups = {{"ml-eu", "ops"}};
  const Workload read = as_read(workload, before);
  EXPECT_TRUE(reads_enough(before.front().document, read, before));
  EXPECT_FALSE(reads_enough(with("ops").document, read, before));
}

TEST(ReferenceSets, Lint_SaysWhereASetIsMissingOrWrong) {
  const PolicyDocument policy =
      parsed({manifest_condition(), condition("it", approved_by({"carol", "set:managers"}, 3))});
  const auto found = [&](const ReferenceSets& sets, std::string_view code) {
    for (const Finding& finding : lint(policy, sets)) {
      if (finding.code == code) {
        EXPECT_EQ(finding.condition, "it");
        return std::string(name(finding.level)) + " " + finding.where;
      }
    }
    return std::string("none");
  };
  const std::string where = " /require/1/statement/signers/identities/1";
  EXPECT_EQ(found({}, "reference-set-missing"), "warning" + where);
  EXPECT_EQ(found(sets_of({{"managers", 1, "", SetKind::kDigests, {"sha256:00"}}}),
                  "reference-set-mismatch"),
            "error" + where);
  EXPECT_EQ(found({}, "never-passes"), "none");
  // With its values the list is looked at like any other.
  EXPECT_EQ(found(sets_of({people({"dave"})}), "never-passes"), "error /require/1");
  EXPECT_EQ(found(sets_of({people({"dave", "eve"})}), "never-passes"), "none");
}

// There it is the name of an image, and nobody would find out that it matches none.
TEST(ReferenceSets, ListsThatTakeNoSets_AreFoundByLint) {
  PolicyDocument policy = valid_policy();
  policy.images = {"registry.example/*", "set:images"};
  policy.other_volumes = {"set:volumes"};
  std::vector<std::string> places;
  for (const Finding& finding : lint(policy)) {
    if (finding.code == "reference-set-mismatch") {
      EXPECT_EQ(finding.level, Finding::Level::kError);
      places.push_back(finding.where);
    }
  }
  EXPECT_EQ(places, (std::vector<std::string>{"/images/1", "/other_volumes/0"}));
}

}  // namespace
}  // namespace assay::policy::test
