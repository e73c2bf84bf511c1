// SPDX-License-Identifier: Apache-2.0
// Whose signatures count.
#include "policy/signers.h"

#include <gtest/gtest.h>

#include "schemas/manifest.h"
#include "tests/policy/fixture.h"

namespace assay::policy::test {
namespace {

using Own = std::vector<std::string>;

// A policy that wants a manifest of these publishers.
PolicyDocument by(SignerRequirement publishers = {}) {
  return policy_with({manifest_condition(std::move(publishers))});
}

// What one signature on a statement of stage `approve` comes to, the rest being valid. The
// statement gives the artifact the names `own`.
JudgedSigner judge_one(SignerFact signer, Facts facts = valid_facts(),
                       const Own& own = {"acme/demo"}, const PolicyDocument& policy = by()) {
  facts.statements = {statement(9, "approve", Json::object(), {})};
  facts.statements.front().signers = {std::move(signer)};
  facts.statements.front().names = own;
  return judge_all(facts, policy).statements.front().signers.front();
}

JudgedSigner judge_one(TrustedKey key, Facts facts = valid_facts(), const Own& own = {"acme/demo"},
                       const PolicyDocument& policy = by()) {
  return judge_one(SignerFact{std::move(key), from_now(-3600)}, std::move(facts), own, policy);
}

void expect_rejected(const JudgedSigner& judged, Reason code) {
  EXPECT_EQ(judged.state, SignerState::kRejected);
  EXPECT_EQ(judged.code, code);
}

TEST(Signers, KeyWithTheRole_Counts) {
  EXPECT_EQ(judge_one(signer("k", "carol", "approve")).state, SignerState::kCounts);
  EXPECT_EQ(judge_one(signer("k", "carol", "*")).state, SignerState::kCounts);
  EXPECT_EQ(judge_one(signer("k", "carol", "approve", {}, "*")).state, SignerState::kCounts);
  EXPECT_EQ(judge_one(signer("k", "carol", "approve", {}, "acme/demo")).state,
            SignerState::kCounts);
}

TEST(Signers, OtherStage_IsRejected) {
  expect_rejected(judge_one(signer("k", "carol", "train")), Reason::kRoleNotGranted);
}

TEST(Signers, OtherPredicateType_IsRejected) {
  expect_rejected(judge_one(signer("k", "carol", "*", kLicenceType)), Reason::kRoleNotGranted);
}

TEST(Signers, OtherNamespace_IsRejected) {
  expect_rejected(judge_one(signer("k", "carol", "approve", {}, "evil")), Reason::kRoleNotGranted);
  expect_rejected(judge_one(signer("k", "carol", "approve", {}, "acme/dem")),
                  Reason::kRoleNotGranted);
}

TEST(Signers, PublisherKeyOnAStatement_IsRejected) {
  expect_rejected(judge_one(publisher("k", "carol", "*")), Reason::kWrongPurpose);
}

TEST(Signers, RevokedKey_NeverCounts) {
  expect_rejected(judge_one(revoked(signer("k", "carol"), from_now(-1))), Reason::kKeyRevoked);
  expect_rejected(judge_one(revoked(signer("k", "carol"), now())), Reason::kKeyRevoked);
}

TEST(Signers, KeyRevokedLaterThanNow_Counts) {
  EXPECT_EQ(judge_one(revoked(signer("k", "carol"), from_now(1))).state, SignerState::kCounts);
}

TEST(Signers, KeyExpiredBeforeTheSignature_IsRejected) {
  TrustedKey key = signer("k", "carol");
  key.not_after = from_now(-3601);
  expect_rejected(judge_one(key), Reason::kKeyExpired);
}

TEST(Signers, KeyExpiredAfterTheSignature_Counts) {
  TrustedKey key = signer("k", "carol");
  key.not_after = from_now(-3600);
  EXPECT_EQ(judge_one(key).state, SignerState::kCounts);
}

TEST(Signers, KeyNotYetValidAtTheSignature_IsRejected) {
  TrustedKey key = signer("k", "carol");
  key.not_before = from_now(-3599);
  expect_rejected(judge_one(key), Reason::kKeyNotYetValid);
}

// A thief of an expired key adds its signature to a statement from when the key was valid.
TEST(Signers, ExpiredKeySignsAnOldStatement_IsRejected) {
  TrustedKey key = signer("k", "carol");
  key.not_after = from_now(-1800);  // valid when the statement was accepted an hour ago
  expect_rejected(judge_one(SignerFact{key, from_now(-60)}), Reason::kKeyExpired);
}

// A key enrolled after the statement was accepted may sign it, too.
TEST(Signers, YoungKeySignsAnOldStatement_Counts) {
  TrustedKey key = signer("k", "carol");
  key.not_before = from_now(-1800);
  EXPECT_EQ(judge_one(SignerFact{key, from_now(-60)}).state, SignerState::kCounts);
}

TEST(Signers, SignatureLoggedAfterNow_IsUndecided) {
  const JudgedSigner judged = judge_one(SignerFact{signer("k", "carol"), from_now(1)});
  EXPECT_EQ(judged.state, SignerState::kUndecided);
  EXPECT_EQ(judge_one(SignerFact{signer("k", "carol"), now()}).state, SignerState::kCounts);
}

TEST(Signers, SignatureLoggedAfterNowByARevokedKey_IsRejected) {
  expect_rejected(judge_one(SignerFact{revoked(signer("k", "carol"), now()), from_now(1)}),
                  Reason::kKeyRevoked);
}

TEST(Names, NoManifest_OnlyRolesForEveryNameCount) {
  Facts facts = valid_facts();
  facts.manifests.clear();
  expect_rejected(judge_one(signer("k", "carol", "*", {}, "acme"), facts), Reason::kRoleNotGranted);
  EXPECT_EQ(judge_one(signer("k", "carol", "*", {}, "*"), facts).state, SignerState::kCounts);
}

TEST(Names, ManifestWithoutTrustedSigner_NamesNothing) {
  const std::vector<TrustedKey> untrusted = {revoked(publisher("k", "alice"), now()),
                                             publisher("k", "mallory", "evil"),
                                             signer("k", "alice", "*", kManifestPredicateType)};
  for (const TrustedKey& key : untrusted) {
    Facts facts = valid_facts();
    facts.manifests = {manifest(1, "acme/demo", {key})};
    EXPECT_TRUE(judge_all(facts, by()).names->empty()) << key.identity;
    expect_rejected(judge_one(signer("s", "carol"), facts), Reason::kRoleNotGranted);
  }
}

TEST(Names, ManifestLoggedAfterNow_NamesNothing) {
  Facts facts = valid_facts();
  facts.manifests.front().statement.signers.front().signed_at = from_now(1);
  EXPECT_TRUE(judge_all(facts, by()).names->empty());
}

TEST(Names, SeveralNames_OneIsEnough) {
  Facts facts = valid_facts();
  facts.manifests.push_back(manifest(8, "beta/demo", {publisher("b", "bob", "beta")}));
  EXPECT_EQ(judge_one(signer("k", "carol", "*", {}, "acme"), facts).state, SignerState::kCounts);
  EXPECT_EQ(judge_one(signer("k", "carol", "*", {}, "beta"), facts, {"beta/demo"}).state,
            SignerState::kCounts);
  expect_rejected(judge_one(signer("k", "carol", "*", {}, "gamma"), facts, {"gamma/demo"}),
                  Reason::kRoleNotGranted);
}

// A stranger publishes the same bytes under a name of his own, so that his friend may speak.
TEST(Names, OfAPublisherWhomThePolicyDoesNotAsk_IsNone) {
  Facts facts = valid_facts();
  facts.manifests.push_back(manifest(8, "strangers/x", {publisher("s", "sven", "strangers")}));
  const TrustedKey friendly = signer("k", "carol", "*", {}, "strangers");
  const Own own = {"strangers/x"};
  expect_rejected(judge_one(friendly, facts, own, by({1, {"alice"}})), Reason::kRoleNotGranted);
  EXPECT_EQ(judge_one(friendly, facts, own, by({1, {"sven"}})).state, SignerState::kCounts);
  EXPECT_EQ(judge_one(signer("k", "carol"), facts, {"acme/demo"}, by({1, {"alice"}})).state,
            SignerState::kCounts);
}

// The name is that of one manifest which all required publishers signed.
TEST(Names, OfOneRequiredPublisherOfTwo_IsNone) {
  Facts facts = valid_facts();
  const TrustedKey second = publisher("b", "bob", "*");
  facts.manifests.push_back(manifest(8, "beta/demo", {second}));
  const PolicyDocument both = by({2, {"alice", "bob"}});
  EXPECT_TRUE(judge_all(facts, both).names->empty());
  facts.manifests.push_back(manifest(9, "acme/demo", {publisher("alice-1", "alice"), second}));
  EXPECT_EQ(judge_all(facts, both).names, Names{"acme/demo"});
}

// His tree is another one; he only says that it is the same model.
TEST(Names, ManifestOfAnotherRoot_GivesNone) {
  Facts facts = valid_facts();
  facts.manifests.front().parameters.hash = HashAlgorithm::kSha384;
  EXPECT_TRUE(judge_all(facts, by()).names->empty());
}

TEST(Names, ReferenceWithAName_MeansThatAlone) {
  Facts facts = valid_facts();
  facts.manifests.push_back(manifest(8, "beta/demo", {publisher("b", "bob", "beta")}));
  const TrustedKey beta = signer("k", "carol", "*", {}, "beta");
  EXPECT_EQ(judge_one(beta, facts, {"beta/demo"}).state, SignerState::kCounts);
  facts.name = "acme/demo";
  expect_rejected(judge_one(beta, facts, {"beta/demo"}), Reason::kRoleNotGranted);
  EXPECT_EQ(judge_one(signer("k", "carol"), facts).state, SignerState::kCounts);
  facts.name = "gamma/demo";  // nobody gave it
  expect_rejected(judge_one(signer("k", "carol", "*", {}, "gamma"), facts, {"gamma/demo"}),
                  Reason::kRoleNotGranted);
}

TEST(Names, PolicyWithoutManifestCondition_BelievesNone) {
  NotCondition below;
  below.of.push_back(manifest_condition());
  for (const PolicyDocument& policy :
       {policy_with({}), policy_with({condition("not", std::move(below))})}) {
    expect_rejected(judge_one(signer("k", "carol"), valid_facts(), {"acme/demo"}, policy),
                    Reason::kRoleNotGranted);
    EXPECT_EQ(
        judge_one(signer("k", "carol", "*", {}, "*"), valid_facts(), {"acme/demo"}, policy).state,
        SignerState::kCounts);
  }
}

// Somebody added a signature to a statement about another name, or the statement has no name.
TEST(Names, OfTheStatementItself_AreCovered) {
  const TrustedKey acme = signer("k", "carol", "*", {}, "acme");
  for (const Own& own : {Own{"strangers/x"}, Own{"acme/demo", "strangers/x"}, Own{}, Own{""}}) {
    expect_rejected(judge_one(acme, valid_facts(), own), Reason::kRoleNotGranted);
    EXPECT_EQ(judge_one(signer("k", "carol", "*", {}, "*"), valid_facts(), own).state,
              SignerState::kCounts);
  }
  EXPECT_EQ(judge_one(acme, valid_facts(), {"acme/other", "acme/demo"}).state,
            SignerState::kCounts);
  // Of two statements of one key each is judged by its own name.
  Facts facts = valid_facts();
  facts.statements = {statement(8, "approve", Json::object(), {acme}),
                      statement(9, "approve", Json::object(), {acme})};
  facts.statements.front().names = {"strangers/x"};
  const JudgedFacts judged = judge_all(facts, by());
  expect_rejected(judged.statements[0].signers.front(), Reason::kRoleNotGranted);
  EXPECT_EQ(judged.statements[1].signers.front().state, SignerState::kCounts);
}

// Each policy has its own publishers, whatever was judged before.
TEST(Names, EachPolicy_HasItsOwn) {
  Facts facts = valid_facts();
  facts.manifests.push_back(manifest(8, "strangers/x", {publisher("s", "sven", "strangers")}));
  facts.statements = {
      statement(9, "approve", Json::object(), {signer("k", "olaf", "approve", {}, "strangers")})};
  facts.statements.front().names = {"strangers/x"};
  const auto asking = [](const char* name, const char* publisher) {
    PolicyDocument policy = policy_with(
        {manifest_condition({1, {publisher}}), condition("approved", stage_condition("approve"))});
    policy.name = name;
    return active(std::move(policy));
  };
  const ActivePolicy ours = asking("ours", "alice");
  const ActivePolicy his = asking("his", "sven");
  for (const auto& order : {std::vector{ours, his, ours}, std::vector{his, ours}}) {
    const Verdict verdict = decide(order, facts);
    for (std::size_t i = 0; i < order.size(); ++i) {
      EXPECT_EQ(verdict.policies[i].conditions.at(1).outcome,
                order[i].document.name == "his" ? Outcome::kPass : Outcome::kFail);
    }
  }
}

// A placement is a publisher's word, within its own names; it names no model for other statements.
TEST(Placements, SignersAreJudgedAsPublishersOfItsName) {
  const auto state = [](const TrustedKey& key, std::string_view name) {
    Facts facts = valid_facts();
    facts.manifests.clear();
    ManifestFact made = manifest(9, name, {key});
    facts.placements = {{made.statement, made.name, made.locations}};
    const JudgedFacts judged = judge_signers(facts, now());
    EXPECT_TRUE(names_of(publisher_demands(by()), judged, "").empty());
    EXPECT_EQ(judged.placements.at(0), &facts.placements[0]);
    return judged.placement_statements.at(0).signers.front().state;
  };
  EXPECT_EQ(state(publisher("k", "alice"), "acme/demo"), SignerState::kCounts);
  EXPECT_EQ(state(publisher("k", "alice"), "beta/demo"), SignerState::kRejected);
  EXPECT_EQ(state(revoked(publisher("k", "alice"), now()), "acme/demo"), SignerState::kRejected);
  EXPECT_EQ(state(signer("k", "alice"), "acme/demo"), SignerState::kRejected);
}

TEST(Placements, AreInTheOrderOfTheLog) {
  Facts facts = valid_facts();
  for (const std::uint64_t number : {12U, 11U}) {
    ManifestFact made = manifest(number, "acme/demo", {publisher("k", "alice")});
    facts.placements.push_back({made.statement, made.name, {}});
  }
  const JudgedFacts judged = judge_signers(facts, now());
  EXPECT_EQ(judged.placements.front()->statement.log_index, 11U);
  EXPECT_EQ(judged.placement_statements.front().fact, &judged.placements.front()->statement);
}

TEST(Names, SimilarNames_AreNotCovered) {
  Facts facts = valid_facts();
  facts.manifests = {manifest(1, "acme-x/demo", {publisher("a", "alice", "*")}),
                     manifest(2, "acme0", {publisher("a", "alice", "*")})};
  expect_rejected(judge_one(signer("k", "carol", "*", {}, "acme"), facts), Reason::kRoleNotGranted);
  facts.manifests.push_back(manifest(3, "acme/demo/v2", {publisher("a", "alice", "*")}));
  for (const char* covers : {"acme", "acme/demo", "acme/demo/v2", "acme-x", "acme0", "*"}) {
    EXPECT_EQ(judge_one(signer("k", "carol", "*", {}, covers), facts, {covers}).state,
              SignerState::kCounts)
        << covers;
  }
  for (const char* misses : {"acm", "acme/dem", "acme/demo/v", "acme-", "b", "acme/"}) {
    expect_rejected(judge_one(signer("k", "carol", "*", {}, misses), facts, {misses}),
                    Reason::kRoleNotGranted);
  }
}

// The reason that says most wins over "not this name".
TEST(Names, SeveralNamesAndRevokedKey_SaysRevoked) {
  Facts facts = valid_facts();
  facts.manifests.push_back(manifest(8, "beta/demo", {publisher("b", "bob", "beta")}));
  for (const char* name_space : {"acme", "beta"}) {
    expect_rejected(judge_one(revoked(signer("k", "carol", "*", {}, name_space), now()), facts,
                              {std::string(name_space) + "/demo"}),
                    Reason::kKeyRevoked);
  }
}

TEST(Judged, Statements_AreInLogOrder) {
  Facts facts = valid_facts();
  std::swap(facts.statements.front(), facts.statements.back());
  facts.manifests = {manifest(8, "acme/demo", {}), manifest(1, "acme/demo", {})};
  const JudgedFacts judged = judge_all(facts, by());
  for (std::size_t i = 1; i < judged.statements.size(); ++i) {
    EXPECT_LT(judged.statements[i - 1].fact->log_index, judged.statements[i].fact->log_index);
  }
  EXPECT_EQ(judged.manifests.front()->statement.log_index, 1U);
  EXPECT_EQ(judged.manifest_statements.front().fact, &judged.manifests.front()->statement);
}

// --- the index

TEST(StatementIndex, OfAnotherList_IsNotUsed) {
  Facts facts = valid_facts();
  facts.index = index_statements(facts.statements);
  EXPECT_EQ(judge_signers(facts, now()).index, facts.index);
  const Facts copy = facts;
  EXPECT_EQ(judge_signers(copy, now()).index, copy.index);
  facts.statements.pop_back();
  const JudgedFacts judged = judge_all(facts, by());
  EXPECT_EQ(judged.statements.size(), copy.statements.size() - 1);
  EXPECT_EQ(judge_all(copy, by()).statements.size(), copy.statements.size());
  facts.statements.clear();
  EXPECT_TRUE(judge_all(facts, by()).statements.empty());
}

TEST(StatementIndex, SignaturesOfOneKey_AreJudgedByTheirTimes) {
  Facts facts = valid_facts();
  const auto* first = &facts.statements.read().front();
  const TrustedKey key = first->signers.front().key;
  const StatementFact base = *first;
  facts.statements.clear();
  const Timestamp times[] = {key.not_before - std::chrono::milliseconds(1),
                             key.not_before,
                             now(),
                             from_now(1),
                             key.not_after,
                             key.not_after + std::chrono::milliseconds(1)};
  for (const Timestamp time : times) {
    StatementFact fact = base;
    fact.log_index = 100 + facts.statements.size();
    fact.signers = {{key, time}};
    facts.statements.push_back(std::move(fact));
  }
  const SignerState expected[] = {SignerState::kRejected,  SignerState::kCounts,
                                  SignerState::kCounts,    SignerState::kUndecided,
                                  SignerState::kUndecided, SignerState::kRejected};
  const JudgedFacts judged = judge_all(facts, by());
  ASSERT_EQ(judged.statements.size(), std::size(expected));
  for (std::size_t i = 0; i < std::size(expected); ++i) {
    EXPECT_EQ(judged.statements[i].signers.front().state, expected[i]) << i;
  }
  EXPECT_EQ(judged.statements.front().signers.front().code, Reason::kKeyNotYetValid);
  EXPECT_EQ(judged.statements.back().signers.front().code, Reason::kKeyExpired);
}

// Until the end of the expression.
JudgedStatement by(std::initializer_list<JudgedSigner> signers) {
  return {nullptr, {signers.begin(), signers.size()}};
}

JudgedSigner good(std::string_view identity) { return {identity, SignerState::kCounts, {}}; }
JudgedSigner bad(std::string_view identity, Reason code) {
  return {identity, SignerState::kRejected, code};
}

TEST(Tally, SameIdentityTwice_CountsOnce) {
  const SignerRequirement requirement{2, {}};
  Tally tally(requirement);
  tally.add(by({good("carol"), good("carol")}));
  tally.add(by({good("carol")}));
  EXPECT_EQ(tally.outcome(), Outcome::kFail);
  EXPECT_EQ(tally.failure(), Reason::kSignersInsufficient);
  EXPECT_EQ(tally.actual()["identities"], Json::array({"carol"}));
  tally.add(by({good("dave")}));
  EXPECT_EQ(tally.outcome(), Outcome::kPass);
}

TEST(Tally, IdentitiesListed_OnlyTheyCount) {
  const SignerRequirement requirement{1, {"dave"}};
  Tally tally(requirement);
  tally.add(by({good("carol")}));
  EXPECT_EQ(tally.outcome(), Outcome::kFail);
  EXPECT_EQ(tally.actual()["unlisted"], Json::array({"carol"}));
  tally.add(by({good("dave")}));
  EXPECT_EQ(tally.outcome(), Outcome::kPass);
}

TEST(Tally, AtLeastZero_IsReadAsOne) {
  const SignerRequirement requirement{0, {}};
  Tally tally(requirement);
  EXPECT_EQ(tally.outcome(), Outcome::kFail);
  EXPECT_EQ(tally.expected()["at_least"], 1);
}

TEST(Tally, UndecidedThatCouldReachIt_IsAnError) {
  const SignerRequirement requirement{2, {}};
  Tally tally(requirement);
  tally.add(by({good("carol")}));
  tally.add_undecided(by({good("carol")}));
  EXPECT_EQ(tally.outcome(), Outcome::kFail);
  tally.add_undecided(by({good("dave")}));
  EXPECT_EQ(tally.outcome(), Outcome::kError);
}

TEST(Tally, AllRejectedForOneReason_SaysIt) {
  const SignerRequirement requirement{1, {}};
  Tally tally(requirement);
  tally.add(by({bad("carol", Reason::kKeyRevoked), bad("dave", Reason::kKeyRevoked)}));
  EXPECT_EQ(tally.failure(), Reason::kKeyRevoked);
  tally.add(by({bad("erin", Reason::kKeyExpired)}));
  EXPECT_EQ(tally.failure(), Reason::kSignersInsufficient);
}

TEST(Tally, ReasonsOfUnlistedIdentities_DoNotMatter) {
  const SignerRequirement requirement{1, {"carol"}};
  Tally tally(requirement);
  tally.add(
      by({bad("carol", Reason::kKeyRevoked), bad("erin", Reason::kKeyExpired), good("dave")}));
  EXPECT_EQ(tally.failure(), Reason::kKeyRevoked);
}

TEST(Tally, Actual_ListsRejectedOnceAndSorted) {
  const SignerRequirement requirement{1, {}};
  Tally tally(requirement);
  tally.add(by({bad("dave", Reason::kKeyRevoked), bad("carol", Reason::kWrongPurpose)}));
  tally.note_rejected(by({bad("carol", Reason::kWrongPurpose)}));
  EXPECT_EQ(tally.actual(), (Json{{"identities", Json::array()},
                                  {"rejected",
                                   {{{"identity", "carol"}, {"code", "wrong-purpose"}},
                                    {{"identity", "dave"}, {"code", "key-revoked"}}}}}));
}

}  // namespace
}  // namespace assay::policy::test
