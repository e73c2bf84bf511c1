// SPDX-License-Identifier: Apache-2.0
// Conditions about the artifact itself: publishers and tree parameters.
#include <gtest/gtest.h>

#include "tests/policy/fixture.h"

namespace assay::policy::test {
namespace {

ConditionResult judge_manifests(SharedList<ManifestFact> manifests,
                                SignerRequirement signers = {}) {
  Facts facts = valid_facts();
  facts.manifests = std::move(manifests);
  return judge_alone(ManifestCondition{std::move(signers)}, facts);
}

void expect(const ConditionResult& result, Outcome outcome, std::optional<Reason> code) {
  EXPECT_EQ(result.outcome, outcome);
  EXPECT_EQ(result.code, code);
}

TEST(ManifestCondition, OnePublisher_Passes) {
  const ConditionResult result = judge_manifests(valid_facts().manifests);
  expect(result, Outcome::kPass, std::nullopt);
  EXPECT_EQ(result.expected, (Json{{"at_least", 1}, {"identities", Json::array()}}));
  EXPECT_EQ(result.actual, (Json{{"identities", {"alice"}}, {"rejected", Json::array()}}));
  EXPECT_EQ(result.evidence, std::vector{statement_id(1).text()});
}

TEST(ManifestCondition, NoManifest_IsMissing) {
  expect(judge_manifests({}), Outcome::kFail, Reason::kManifestMissing);
}

TEST(ManifestCondition, ManifestNobodySigned_IsInsufficient) {
  expect(judge_manifests({manifest(1, "acme/demo", {})}), Outcome::kFail,
         Reason::kSignersInsufficient);
}

// One mutation of the only publisher's key each.
TEST(ManifestCondition, OnlySignerDoesNotCount_SaysWhy) {
  TrustedKey young = publisher("k", "alice");
  young.not_before = from_now(-1);
  TrustedKey old = publisher("k", "alice");
  old.not_after = from_now(-3601);
  const std::vector<std::pair<TrustedKey, Reason>> cases = {
      {revoked(publisher("k", "alice"), now()), Reason::kKeyRevoked},
      {old, Reason::kKeyExpired},
      {young, Reason::kKeyNotYetValid},
      {publisher("k", "alice", "evil"), Reason::kRoleNotGranted},
      {signer("k", "alice"), Reason::kWrongPurpose}};
  for (const auto& [key, code] : cases) {
    const ConditionResult result = judge_manifests({manifest(1, "acme/demo", {key})});
    expect(result, Outcome::kFail, code);
    EXPECT_EQ(result.actual["rejected"],
              Json::array({{{"identity", "alice"}, {"code", info(code).code}}}));
  }
}

TEST(ManifestCondition, SignersRejectedForDifferentReasons_AreInsufficient) {
  const TrustedKey a = revoked(publisher("a", "alice"), now());
  const TrustedKey b = publisher("b", "bob", "evil");
  expect(judge_manifests({manifest(1, "acme/demo", {a, b})}), Outcome::kFail,
         Reason::kSignersInsufficient);
}

TEST(ManifestCondition, TwoOfTwo_NeedsTwoIdentities) {
  const TrustedKey a1 = publisher("a1", "alice");
  const TrustedKey a2 = publisher("a2", "alice");
  const TrustedKey b = publisher("b", "bob");
  expect(judge_manifests({manifest(1, "acme/demo", {a1, a2})}, {2, {}}), Outcome::kFail,
         Reason::kSignersInsufficient);
  expect(judge_manifests({manifest(1, "acme/demo", {a1, b})}, {2, {}}), Outcome::kPass,
         std::nullopt);
}

TEST(ManifestCondition, TwoManifestsOfOneArtifact_CountTogether) {
  const ConditionResult result =
      judge_manifests({manifest(1, "acme/demo", {publisher("a", "alice")}),
                       manifest(2, "acme/other", {publisher("b", "bob")})},
                      {2, {}});
  expect(result, Outcome::kPass, std::nullopt);
  EXPECT_EQ(result.evidence.size(), 2U);
}

TEST(ManifestCondition, RoleIsCheckedAgainstTheManifestsOwnName) {
  const TrustedKey a = publisher("a", "alice", "acme");
  expect(judge_manifests({manifest(1, "acme/demo", {a}), manifest(2, "beta/demo", {a})}, {2, {}}),
         Outcome::kFail, Reason::kSignersInsufficient);
}

TEST(ManifestCondition, PublisherWhoIsNotListed_DoesNotCount) {
  const ConditionResult result = judge_manifests(valid_facts().manifests, {1, {"bob"}});
  expect(result, Outcome::kFail, Reason::kSignersInsufficient);
  EXPECT_EQ(result.expected["identities"], Json::array({"bob"}));
  EXPECT_EQ(result.actual["unlisted"], Json::array({"alice"}));
}

TEST(ManifestCondition, SignatureAfterNow_IsAnError) {
  SharedList<ManifestFact> manifests = valid_facts().manifests;
  manifests.front().statement.signers.front().signed_at = from_now(1);
  expect(judge_manifests(manifests), Outcome::kError, Reason::kConditionUndecided);
  expect(judge_manifests(manifests, {2, {}}), Outcome::kFail, Reason::kSignersInsufficient);
}

TEST(ParametersCondition, AllowedParameters_Pass) {
  const ConditionResult result =
      judge_alone(ParametersCondition{{"sha256", "sha384"}, {16384}}, valid_facts());
  expect(result, Outcome::kPass, std::nullopt);
  EXPECT_EQ(result.actual, (Json{{"hash", "sha256"}, {"chunk_size", 16384}}));
}

TEST(ParametersCondition, EmptyLists_DoNotConstrain) {
  expect(judge_alone(ParametersCondition{}, valid_facts()), Outcome::kPass, std::nullopt);
}

TEST(ParametersCondition, OtherHash_IsAMismatch) {
  expect(judge_alone(ParametersCondition{{"sha384"}, {}}, valid_facts()), Outcome::kFail,
         Reason::kParametersMismatch);
}

TEST(ParametersCondition, OtherChunkSize_IsAMismatch) {
  expect(judge_alone(ParametersCondition{{"sha256"}, {4096}}, valid_facts()), Outcome::kFail,
         Reason::kParametersMismatch);
}

TEST(ParametersCondition, NoManifest_IsAnError) {
  Facts facts = valid_facts();
  facts.manifests.clear();
  expect(judge_alone(ParametersCondition{{"sha256"}, {}}, facts), Outcome::kError,
         Reason::kConditionUndecided);
  expect(judge_alone(ParametersCondition{}, facts), Outcome::kError, Reason::kConditionUndecided);
}

TEST(ParametersCondition, ManifestsThatDisagree_AreAnError) {
  Facts facts = valid_facts();
  facts.manifests.push_back(manifest(2, "acme/demo", {}));
  facts.manifests.back().parameters.chunk_size = 4096;
  expect(judge_alone(ParametersCondition{{"sha256"}, {}}, facts), Outcome::kError,
         Reason::kConditionUndecided);
}

// It has a root of its own, and names the artifact as another digest of the same model.
TEST(ParametersCondition, ManifestOfAnotherRoot_SaysNothing) {
  Facts facts = valid_facts();
  facts.manifests.push_back(manifest(2, "evil/x", {}));
  facts.manifests.back().parameters = {HashAlgorithm::kSha384, 4096};
  expect(judge_alone(ParametersCondition{{"sha256"}, {}}, facts), Outcome::kPass, std::nullopt);
  facts.manifests.erase(facts.manifests.begin());
  expect(judge_alone(ParametersCondition{{"sha384"}, {}}, facts), Outcome::kError,
         Reason::kConditionUndecided);
}

Facts leaving_out(std::vector<std::string> ignore) {
  Facts facts = valid_facts();
  facts.manifests.front().parameters.ignore = std::move(ignore);
  return facts;
}

TEST(ParametersCondition, Patterns_MustAllBeListed) {
  ParametersCondition listed;
  listed.ignore = {"*.tmp", "/.git"};
  expect(judge_alone(listed, leaving_out({"*.tmp", "/.git"})), Outcome::kPass, std::nullopt);
  expect(judge_alone(listed, leaving_out({})), Outcome::kPass, std::nullopt);
  // Compared as text: what a listed pattern would match is another pattern.
  for (const char* pattern : {"*.py", "a.tmp", "/.git/", "*"}) {
    expect(judge_alone(listed, leaving_out({pattern})), Outcome::kFail,
           Reason::kParametersMismatch);
  }
  ParametersCondition none;
  none.ignore.emplace();
  expect(judge_alone(none, leaving_out({})), Outcome::kPass, std::nullopt);
  expect(judge_alone(none, leaving_out({"/.git"})), Outcome::kFail, Reason::kParametersMismatch);
  EXPECT_EQ(judge_alone(listed, leaving_out({"*.py"})).actual["ignore"], Json({"*.py"}));
}

TEST(ParametersCondition, Objects_MustBeIncluded) {
  const auto judged = [](Objects has, Objects wanted) {
    Facts facts = valid_facts();
    facts.manifests.front().objects = has;
    ParametersCondition condition;
    condition.objects = wanted;
    return judge_alone(condition, facts);
  };
  for (const Objects wanted : {Objects::kFiles, Objects::kTensors, Objects::kBoth}) {
    expect(judged(Objects::kBoth, wanted), Outcome::kPass, std::nullopt);
    expect(judged(wanted, wanted), Outcome::kPass, std::nullopt);
  }
  for (const auto& [has, wanted] :
       {std::pair{Objects::kTensors, Objects::kFiles}, std::pair{Objects::kTensors, Objects::kBoth},
        std::pair{Objects::kFiles, Objects::kTensors}}) {
    expect(judged(has, wanted), Outcome::kFail, Reason::kParametersMismatch);
  }
}

using Formats = std::vector<ModelFormat>;

ConditionResult judge_formats(std::optional<Formats> has, const Formats& wanted,
                              std::vector<std::string> hash = {}) {
  Facts facts = valid_facts();
  facts.manifests.front().formats = std::move(has);
  ParametersCondition condition{std::move(hash), {}};
  condition.formats = wanted;
  return judge_alone(condition, facts);
}

TEST(ParametersCondition, Formats_MustAllBeListed) {
  const Formats safe = {ModelFormat::kSafetensors, ModelFormat::kOther};
  expect(judge_formats(Formats{ModelFormat::kOther, ModelFormat::kSafetensors}, safe),
         Outcome::kPass, std::nullopt);
  expect(judge_formats(Formats{ModelFormat::kSafetensors}, safe), Outcome::kPass, std::nullopt);
  const ConditionResult refused = judge_formats(
      Formats{ModelFormat::kExecutable, ModelFormat::kOther, ModelFormat::kSafetensors}, safe);
  expect(refused, Outcome::kFail, Reason::kParametersMismatch);
  EXPECT_EQ(refused.expected["formats"], Json({"safetensors", "other"}));
  EXPECT_EQ(refused.actual["formats"], Json({"executable-format", "other", "safetensors"}));
}

TEST(ParametersCondition, FormatsThatNobodyKnows_AreAnErrorAlsoBelowANot) {
  const Formats safe = {ModelFormat::kSafetensors};
  expect(judge_formats(std::nullopt, safe), Outcome::kError, Reason::kConditionUndecided);
  expect(judge_formats(std::nullopt, safe, {"sha384"}), Outcome::kFail,
         Reason::kParametersMismatch);
  Facts facts = valid_facts();
  facts.manifests.front().formats.reset();
  ParametersCondition condition;
  condition.formats = safe;
  EXPECT_EQ(judge_alone(NotCondition{{test::condition("formats", condition)}}, facts).outcome,
            Outcome::kError);
}

// One manifest of the artifact was accepted before formats were kept; the other says them.
TEST(ParametersCondition, FormatsOfOneManifest_AreEnough) {
  Facts facts = valid_facts();
  ManifestFact older = facts.manifests.front();
  older.statement.id = manifest(9, "acme/demo", {}).statement.id;
  older.formats.reset();
  facts.manifests.change().push_back(older);
  ParametersCondition condition;
  condition.formats = {ModelFormat::kSafetensors, ModelFormat::kOther};
  expect(judge_alone(condition, facts), Outcome::kPass, std::nullopt);
  condition.formats = {ModelFormat::kOther};
  expect(judge_alone(condition, facts), Outcome::kFail, Reason::kParametersMismatch);
}

// --- what every policy asks without writing it

Verdict decided(const Facts& facts, std::vector<Condition> extra = {}) {
  std::vector<Condition> require = {manifest_condition()};
  require.insert(require.end(), extra.begin(), extra.end());
  return decide(policy_with(std::move(require)), facts);
}

TEST(IgnoreAccepted, UsualPatterns_AreAccepted) {
  for (const std::vector<std::string>& ignore :
       {std::vector<std::string>{},
        {"/.git"},
        {"/.git", "/model.assay.json"},
        {"/model.assay.json.times", "/model.assay.outline"}}) {
    const Verdict verdict = decided(leaving_out(ignore));
    EXPECT_TRUE(verdict.allowed);
    EXPECT_EQ(verdict.policies.front().conditions.back().id, "ignore-accepted");
  }
}

// A publisher that the policy lists may sign a manifest that leaves out code: another artifact, and
// no allow for it.
TEST(IgnoreAccepted, OtherPatterns_AreAMismatch) {
  for (const char* pattern :
       {"*.py", ".git", "/.git*", "/model.assay.json/x", "model.assay.json", "/modeling.py"}) {
    const Verdict verdict = decided(leaving_out({pattern}));
    EXPECT_FALSE(verdict.allowed) << pattern;
    EXPECT_EQ(verdict.reasons, std::vector{Reason::kParametersMismatch}) << pattern;
  }
}

TEST(IgnoreAccepted, OwnPatternsOfThePolicy_TakeItsPlace) {
  ParametersCondition own;
  own.ignore = {"*.md"};
  const std::vector<Condition> below_any = {
      condition("any", AnyCondition{{condition("tree", own)}})};
  for (const auto& require : {std::vector{condition("tree", own)}, below_any}) {
    EXPECT_TRUE(decided(leaving_out({"*.md"}), require).allowed);
    EXPECT_FALSE(decided(leaving_out({"/.git"}), require).allowed);
    EXPECT_EQ(decided(leaving_out({"*.md"}), require).policies.front().conditions.size(), 2U);
  }
  // A parameters condition without patterns, or below a `not`, says nothing of them.
  EXPECT_FALSE(
      decided(leaving_out({"*.md"}), {condition("tree", ParametersCondition{{"sha256"}, {}})})
          .allowed);
  own.ignore = {"/other"};
  EXPECT_FALSE(
      decided(leaving_out({"*.md"}), {condition("no", NotCondition{{condition("tree", own)}})})
          .allowed);
}

TEST(IgnoreAccepted, WithoutAManifestOfTheRoot_NothingIsAccepted) {
  Facts facts = valid_facts();
  facts.manifests.clear();
  EXPECT_EQ(decided(facts).policies.front().conditions.back().code, Reason::kManifestMissing);
  facts = valid_facts();
  facts.manifests.front().parameters.hash = HashAlgorithm::kSha384;  // another root
  const ConditionResult result = decided(facts).policies.front().conditions.back();
  expect(result, Outcome::kError, Reason::kConditionUndecided);
}

}  // namespace
}  // namespace assay::policy::test
