// SPDX-License-Identifier: Apache-2.0
// What a bare model name stands for: the newest release, an artifact that the policy gives, or
// nothing.
#include "schemas/core/sha.h"
#include "schemas/release.h"
#include "server/service/documents/accept.h"
#include "server/service/governance/withdrawals.h"
#include "server/service/references/resolve.h"
#include "tests/server/service/fixture.h"

namespace assay::server::test {
namespace {

class Releases : public ServiceTest {
 protected:
  Releases() {
    EXPECT_TRUE(
        apply_trust_change(*services_,
                           trust_change(1, {AddKey{mallory_.record}, AddKey{stranger_.record}},
                                        {&operator1_, &operator2_}),
                           actor_));
    for (const Manifest* one : {&v1_, &v2_, &v3_}) {
      EXPECT_TRUE(accept_manifest(*services_, signed_manifest(*one), actor_));
    }
    workload_.name_space = "inference";
    use({.rule = NameRule::kRelease});
  }

  // The policies in force: one that believes "release", with this rule.
  void use(NamePolicy names, PolicyMode mode = PolicyMode::kEnforce) {
    PolicyDocument document{};
    document.name = "named-" + std::to_string(policies_.size());
    document.version = 1;
    document.mode = mode;
    document.names = std::move(names);
    document.require.push_back({"published", ManifestCondition{{1, {"release"}}}});
    policies_ = {{StatementId(sha256(as_bytes(document.name))), std::move(document)}};
  }
  Result<Accepted> push(const Manifest& manifest, const std::string& version,
                        const std::optional<StatementId>& supersedes, const TestKey& key) {
    const Release release{"acme/demo", version, id_of(manifest), supersedes};
    return accept_attestation(*services_, statement_envelope(to_statement(release).value(), {&key}),
                              actor_);
  }
  StatementId released(const Manifest& manifest, const std::string& version,
                       const std::optional<StatementId>& supersedes = {}) {
    return released_by(publisher_, manifest, version, supersedes);
  }
  StatementId released_by(const TestKey& key, const Manifest& manifest, const std::string& version,
                          const std::optional<StatementId>& supersedes = {}) {
    const auto accepted = push(manifest, version, supersedes, key);
    EXPECT_TRUE(accepted) << to_string(accepted.error());
    return accepted->row.id;
  }
  void withdraw(const StatementId& id, const TestKey& key) {
    const Withdrawal withdrawal{id, "vulnerable", "it leaks", {}};
    const std::string payload = canonical_json(to_json(withdrawal)).value();
    const auto accepted =
        accept_withdrawal(*services_, envelope(kWithdrawalPayloadType, payload, {&key}), actor_);
    ASSERT_TRUE(accepted) << to_string(accepted.error());
  }
  ResolvedReference resolved(const std::string& reference = "acme/demo") {
    const std::vector<std::string> references = {reference};
    const auto found =
        resolve(*services_, *store_->snapshot().value(),
                {references, workload_, policies_, DecisionPoint::kCreate, clock_.now()});
    EXPECT_TRUE(found) << to_string(found.error());
    return *found;
  }
  // The artifact that the name stands for, or the code of the refusal.
  std::string meant(const std::string& reference = "acme/demo") {
    const ResolvedReference found = resolved(reference);
    return found.models.empty() ? std::string(info(*found.preconditions.at(0).code).code)
                                : found.models.at(0).artifact.text();
  }
  static std::string text(const Manifest& manifest) { return id_of(manifest).text(); }

  TestKey mallory_ = make_key(KeyPurpose::kPublisher, "mallory", {publisher_role()});
  TestKey stranger_ = make_key(KeyPurpose::kPublisher, "stranger", {publisher_role("other")});
  Manifest v1_ = manifest("v1");
  Manifest v2_ = manifest("v2");
  Manifest v3_ = manifest("v3");
  policy::Workload workload_;
  std::vector<policy::ActivePolicy> policies_;
};

TEST_F(Releases, BareName_MeansTheNewestRelease) {
  EXPECT_EQ(meant(), "release-missing");
  const StatementId first = released(v1_, "1.0.0");
  EXPECT_EQ(meant(), text(v1_));
  const StatementId second = released(v2_, "2.0.0", first);
  EXPECT_EQ(meant(), text(v2_));
  const ResolvedReference found = resolved();
  const auto& evidence = found.preconditions.at(0).evidence;
  const Json ids = Json(evidence);
  EXPECT_NE(ids.dump().find(second.text()), std::string::npos) << "the decision cites the release";
  EXPECT_EQ(meant("acme/demo@" + text(v1_)), text(v1_)) << "older ones can still be named";
}

TEST_F(Releases, ReleaseOfAStranger_ChangesNothing) {
  const StatementId first = released(v1_, "1.0.0");
  released_by(mallory_, v2_, "2.0.0", first);
  released_by(mallory_, v3_, "0.0.1");
  EXPECT_EQ(meant(), text(v1_));
  const StatementId third = released(v3_, "3.0.0", first);
  EXPECT_EQ(meant(), text(v3_)) << "nor does it make a fork";
  policies_.clear();
  EXPECT_EQ(meant(), "model-reference-ambiguous") << "no policy says who is believed";
  static_cast<void>(third);
}

TEST_F(Releases, Fork_IsRefusedWithBoth) {
  const StatementId first = released(v1_, "1.0.0");
  const StatementId second = released(v2_, "2.0.0", first);
  const StatementId other = released(v3_, "2.0.1", first);
  EXPECT_EQ(meant(), "release-forked");
  const Json actual = resolved().preconditions.at(0).actual;
  const auto [low, high] = std::minmax(second, other);
  EXPECT_EQ(actual["releases"], (Json{low.text(), high.text()}));
  withdraw(other, publisher_);
  EXPECT_EQ(meant(), text(v2_));
}

TEST_F(Releases, TwoFirstReleases_AreAFork) {
  released(v1_, "1.0.0");
  released(v2_, "2.0.0");
  EXPECT_EQ(meant(), "release-forked");
}

TEST_F(Releases, WithdrawnRelease_LeavesTheOneBefore) {
  const StatementId first = released(v1_, "1.0.0");
  const StatementId second = released(v2_, "2.0.0", first);
  withdraw(second, publisher_);
  EXPECT_EQ(meant(), text(v1_));
  released(v3_, "3.0.0", second);
  EXPECT_EQ(meant(), text(v3_)) << "the chain goes on through it";
  withdraw(first, publisher_);
  EXPECT_EQ(meant(), text(v3_)) << "later releases stay";
  reopen();
  EXPECT_EQ(meant(), text(v3_));
}

TEST_F(Releases, ReleaseThatFollowsAnotherPublishers_GoesOnThroughIt) {
  const StatementId first = released(v1_, "1.0.0");
  const StatementId theirs = released_by(mallory_, v2_, "2.0.0", first);
  released(v3_, "3.0.0", theirs);
  EXPECT_EQ(meant(), text(v3_));
}

TEST_F(Releases, WithoutARule_SeveralArtifactsStayAmbiguous) {
  released(v1_, "1.0.0");
  use({});
  EXPECT_EQ(meant(), "model-reference-ambiguous");
}

TEST_F(Releases, PinnedName_IsWhatThePolicySays) {
  use({NameRule::kPinned, {{"acme/demo", id_of(v2_)}}});
  EXPECT_EQ(meant(), text(v2_));
  released(v1_, "1.0.0");
  EXPECT_EQ(meant(), text(v2_));
  use({NameRule::kPinned, {{"acme/other", id_of(v2_)}}});
  EXPECT_EQ(meant(), "model-reference-unpinned");
  EXPECT_EQ(meant("acme/demo@" + text(v1_)), text(v1_));
}

TEST_F(Releases, NameThatMeansNothing_NeedsTheArtifact) {
  use({.rule = NameRule::kNone});
  EXPECT_EQ(meant(), "model-reference-unpinned");
  EXPECT_EQ(meant("acme/demo@" + text(v1_)), text(v1_));
  EXPECT_EQ(meant(text(v1_)), text(v1_));
}

TEST_F(Releases, PoliciesThatDisagree_AreAmbiguous) {
  released(v1_, "1.0.0");
  const auto by_release = policies_;
  use({NameRule::kPinned, {{"acme/demo", id_of(v2_)}}});
  policies_.push_back(by_release.front());
  EXPECT_EQ(meant(), "model-reference-ambiguous");
  use({NameRule::kPinned, {{"acme/demo", id_of(v1_)}}});
  policies_.push_back(by_release.front());
  EXPECT_EQ(meant(), text(v1_));
  use({.rule = NameRule::kNone});
  policies_.insert(policies_.begin(), by_release.front());
  EXPECT_EQ(meant(), "model-reference-unpinned") << "one that refuses decides";
}

TEST_F(Releases, PolicyThatBelievesNobody_HasNoRelease) {
  released(v1_, "1.0.0");
  policies_.front().document.require.clear();
  EXPECT_EQ(meant(), "release-missing");
}

TEST_F(Releases, RuleOfAWarnPolicy_CountsOnlyAlone) {
  released(v1_, "1.0.0");
  use({.rule = NameRule::kNone}, PolicyMode::kWarn);
  EXPECT_EQ(meant(), "model-reference-unpinned");
  const auto warns = policies_;
  use({.rule = NameRule::kRelease});
  policies_.push_back(warns.front());
  EXPECT_EQ(meant(), text(v1_));
}

// --- accepting

TEST_F(Releases, WhoMayNotPublishTheName_ReleasesNothing) {
  EXPECT_EQ(refusal(push(v1_, "1.0.0", {}, stranger_)), ErrorCode::kRoleNotGranted);
  EXPECT_EQ(refusal(push(v1_, "1.0.0", {}, approver_a_)), ErrorCode::kWrongPurpose);
}

TEST_F(Releases, ReleaseAfterNothingOfThatName_IsRefused) {
  EXPECT_EQ(refusal(push(v1_, "2.0.0", StatementId(sha256(as_bytes("x"))), publisher_)),
            ErrorCode::kConflict);
  const auto manifest_row = accept_manifest(*services_, signed_manifest(v1_), actor_);
  EXPECT_EQ(refusal(push(v1_, "2.0.0", manifest_row->row.id, publisher_)), ErrorCode::kConflict)
      << "a manifest is no release";
  const Release other{"acme/other", "1", id_of(v1_), {}};
  const auto accepted = accept_attestation(
      *services_, statement_envelope(to_statement(other).value(), {&publisher_}), actor_);
  ASSERT_TRUE(accepted) << to_string(accepted.error());
  EXPECT_EQ(refusal(push(v1_, "2.0.0", accepted->row.id, publisher_)), ErrorCode::kConflict);
}

TEST_F(Releases, TheSameReleaseAgain_IsTheSame) {
  const auto first = push(v1_, "1.0.0", {}, publisher_);
  const auto again = push(v1_, "1.0.0", {}, publisher_);
  ASSERT_TRUE(first && again);
  EXPECT_TRUE(first->created);
  EXPECT_FALSE(again->created);
  EXPECT_EQ(meant(), text(v1_));
}

}  // namespace
}  // namespace assay::server::test
