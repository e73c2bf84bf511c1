// SPDX-License-Identifier: Apache-2.0
// Decisions over a real store: the story's allow, each of its refusals, and replay.
#include "attestation/dsse.h"
#include "schemas/core/sha.h"
#include "tests/server/service/fixture.h"

namespace assay::server::test {
namespace {

class Decide : public ServiceTest {
 protected:
  Decide() { put_policy_in_force(); }

  DecisionRequest request(const std::string& model, std::vector<std::string> places = {}) {
    DecisionRequest request{.point = DecisionPoint::kCreate,
                            .model = {model, std::move(places), true},
                            .workload = {"inference", {}, {"nvidia.com/gpu"}},
                            .context = Json::object(),
                            .principal = "kube-apiserver"};
    return request;
  }
  Decision decide_on(const DecisionRequest& asked) {
    const auto answer = decide(*services_, asked);
    EXPECT_TRUE(answer) << to_string(answer.error());
    return answer->decision.value();
  }
  Decision decide_on(const Manifest& model) {
    return decide_on(request(id_of(model).text(), model.locations));
  }
};

// Passes everything on, and runs `before_write` in front of each write.
class StoreWithHook final : public storage::Store {
 public:
  StoreWithHook(storage::Store& store, std::function<void()> before_write)
      : store_(store), before_write_(std::move(before_write)) {}
  Result<std::unique_ptr<storage::Snapshot>> snapshot() override { return store_.snapshot(); }
  Result<storage::LogState> write(
      const std::function<Status(storage::Transaction&)>& work) override {
    before_write_();
    return store_.write(work);
  }
  [[nodiscard]] bool healthy() const override { return store_.healthy(); }

 private:
  storage::Store& store_;
  std::function<void()> before_write_;
};

bool has(const Decision& decision, ErrorCode code) {
  const auto& reasons = decision.verdict.reasons;
  return std::find(reasons.begin(), reasons.end(), code) != reasons.end();
}

TEST_F(Decide, GoodModel_IsAllowedSignedAndLogged) {
  const Manifest model = manifest("good");
  store_good_model(model);
  const auto answer = decide(*services_, request("acme/demo", model.locations));
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_TRUE(answer->decision->verdict.allowed);
  EXPECT_EQ(answer->decision->artifact, id_of(model));
  const auto envelope = attestation::parse_envelope(as_bytes(answer->envelope)).value();
  const auto key = attestation::PublicKey::from_der(service_key_->public_key()).value();
  EXPECT_TRUE(
      key.verify(attestation::pre_authentication_encoding(envelope.payload_type, envelope.payload),
                 envelope.signatures.front().signature));
  const auto row = store_->snapshot().value()->decision(answer->decision->id).value();
  EXPECT_TRUE(row.allowed);
}

TEST_F(Decide, ArtifactNobodySigned_FailsEveryCondition) {
  const Manifest good = manifest("good");
  store_good_model(good);
  const Decision decision = decide_on(request(id_of(manifest("flipped")).text(), good.locations));
  EXPECT_FALSE(decision.verdict.allowed);
  EXPECT_TRUE(has(decision, ErrorCode::kManifestMissing));
  EXPECT_TRUE(has(decision, ErrorCode::kStatementMissing));
  EXPECT_TRUE(has(decision, ErrorCode::kReferenceUnbound));
  ASSERT_EQ(decision.verdict.policies.size(), 1U);
  for (const ConditionResult& condition : decision.verdict.policies[0].conditions) {
    EXPECT_NE(condition.outcome, Outcome::kPass) << condition.id;
  }
}

TEST_F(Decide, EvaluationMissing_IsRefused) {
  const Manifest model = manifest("m");
  ASSERT_TRUE(accept_manifest(*services_, signed_manifest(model), actor_));
  ASSERT_TRUE(accept_attestation(*services_, approval(model, approver_a_), actor_));
  ASSERT_TRUE(accept_attestation(*services_, approval(model, approver_b_), actor_));
  const Decision decision = decide_on(model);
  EXPECT_FALSE(decision.verdict.allowed);
  EXPECT_EQ(decision.verdict.reasons, std::vector<ErrorCode>{ErrorCode::kStatementMissing});
}

TEST_F(Decide, MetricBelowTheThreshold_IsRefused) {
  const Manifest model = manifest("m");
  store_good_model(model);
  ASSERT_TRUE(accept_attestation(*services_, evaluation(model, 0.5), actor_));
  const Decision decision = decide_on(model);
  EXPECT_FALSE(decision.verdict.allowed);
  EXPECT_EQ(decision.verdict.reasons, std::vector<ErrorCode>{ErrorCode::kPredicateMismatch});
}

TEST_F(Decide, OneIdentityApprovesTwiceWithTwoKeys_IsRefused) {
  const Manifest model = manifest("m");
  ASSERT_TRUE(accept_manifest(*services_, signed_manifest(model), actor_));
  ASSERT_TRUE(accept_attestation(*services_, evaluation(model, 0.95), actor_));
  ASSERT_TRUE(accept_attestation(*services_, approval(model, approver_a_, "one"), actor_));
  ASSERT_TRUE(accept_attestation(*services_, approval(model, approver_a_second_, "two"), actor_));
  const Decision decision = decide_on(model);
  EXPECT_FALSE(decision.verdict.allowed);
  EXPECT_EQ(decision.verdict.reasons, std::vector<ErrorCode>{ErrorCode::kSignersInsufficient});
}

TEST_F(Decide, RevocationWithdrawsAnEarlierApproval) {
  const Manifest model = manifest("m");
  store_good_model(model);
  EXPECT_TRUE(decide_on(model).verdict.allowed);
  ASSERT_TRUE(apply_trust_change(
      *services_,
      trust_change(1, {RevokeKey{approver_b_.record.id, "left"}}, {&operator1_, &operator2_}),
      actor_));
  EXPECT_FALSE(decide_on(model).verdict.allowed);
}

TEST_F(Decide, RevocationBetweenReadingAndWriting_CountsInTheDecision) {
  const Manifest model = manifest("m");
  store_good_model(model);
  bool revoked = false;
  StoreWithHook store(*store_, [&] {
    if (!std::exchange(revoked, true)) {
      ASSERT_TRUE(apply_trust_change(
          *services_,
          trust_change(1, {RevokeKey{approver_b_.record.id, "left"}}, {&operator1_, &operator2_}),
          actor_));
    }
  });
  const TreeSize size = log_size();
  Services services{store, *service_key_, clock_, random_, "example.com/log"};
  const auto answer = decide(services, request("acme/demo", model.locations));
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_FALSE(answer->decision->verdict.allowed);
  EXPECT_EQ(log_size(), size + 2) << "the change and one decision";
}

TEST_F(Decide, TrustThatKeepsChanging_IsNoDecision) {
  const Manifest model = manifest("m");
  store_good_model(model);
  std::uint64_t changes = 0;
  StoreWithHook store(*store_, [&] {
    const TestKey added = make_key(KeyPurpose::kAuthor, "new");
    ASSERT_TRUE(apply_trust_change(
        *services_, trust_change(++changes, {AddKey{added.record}}, {&operator1_, &operator2_}),
        actor_));
  });
  const TreeSize size = log_size();
  Services services{store, *service_key_, clock_, random_, "example.com/log"};
  EXPECT_EQ(refusal(decide(services, request("acme/demo", model.locations))),
            ErrorCode::kUnavailable);
  EXPECT_EQ(log_size(), size + changes);
}

TEST_F(Decide, ExpiredKeyOfAnOldStatement_StillCounts) {
  const Manifest model = manifest("m");
  store_good_model(model);
  clock_.set(parse_rfc3339("2027-06-01T00:00:00Z").value());
  EXPECT_TRUE(decide_on(model).verdict.allowed);
}

TEST_F(Decide, NameOfTwoArtifacts_IsAmbiguousUntilAPlaceSinglesOneOut) {
  const Manifest one = manifest("one");
  const Manifest two = manifest("two");
  store_good_model(one);
  store_good_model(two);
  EXPECT_TRUE(has(decide_on(request("acme/demo")), ErrorCode::kModelReferenceAmbiguous));
  const Decision decision = decide_on(request("acme/demo", two.locations));
  EXPECT_TRUE(decision.verdict.allowed);
  EXPECT_EQ(decision.artifact, id_of(two));
}

// Another digest of the same model, joined by the manifest that names both.
TEST_F(Decide, ManifestThatNamesAnotherRoot_StandsForItsOwnAndForThatWhenAsked) {
  Manifest model = manifest("m");
  const ArtifactId other(sha256(as_bytes("other")));
  model.other_digests = {{other.digest_name(), other.root().hex()}};
  model.artifact.parameters.hash = HashAlgorithm::kSha384;
  std::get<FileEntry>(model.artifact.entries[0]).root = sha(HashAlgorithm::kSha384, {});
  std::get<FileEntry>(model.artifact.entries[0]).size = 0;
  ASSERT_TRUE(accept_manifest(*services_, signed_manifest(model), actor_));
  EXPECT_EQ(decide_on(request("acme/demo", model.locations)).artifact, id_of(model));
  EXPECT_EQ(decide_on(request("", model.locations)).artifact, id_of(model));
  const Decision asked = decide_on(request(other.text(), model.locations));
  EXPECT_EQ(asked.artifact, other);
  EXPECT_EQ(asked.model_name, "acme/demo");
}

TEST_F(Decide, PlaceAlone_StandsForTheModelItMapsTo) {
  const Manifest model = manifest("m");
  store_good_model(model);
  EXPECT_TRUE(decide_on(request("", model.locations)).verdict.allowed);
  EXPECT_TRUE(has(decide_on(request("")), ErrorCode::kModelReferenceMissing));
}

TEST_F(Decide, PlaceThatTheManifestDoesNotName_IsUnbound) {
  const Manifest model = manifest("m");
  store_good_model(model);
  const Decision decision = decide_on(request("acme/demo", {"pvc://inference/other"}));
  EXPECT_EQ(decision.verdict.reasons, std::vector<ErrorCode>{ErrorCode::kReferenceUnbound});
}

TEST_F(Decide, DryRun_LeavesNoTrace) {
  const Manifest model = manifest("m");
  store_good_model(model);
  const TreeSize size = log_size();
  DecisionRequest asked = request("acme/demo", model.locations);
  asked.dry_run = true;
  EXPECT_TRUE(decide_on(asked).verdict.allowed);
  EXPECT_EQ(log_size(), size);
}

TEST_F(Decide, Replay_ReproducesWhateverHappenedSince) {
  const Manifest model = manifest("m");
  store_good_model(model);
  const Decision decision = decide_on(model);
  ASSERT_TRUE(apply_trust_change(
      *services_,
      trust_change(1, {RevokeKey{publisher_.record.id, "stolen"}}, {&operator1_, &operator2_}),
      actor_));
  clock_.advance(std::chrono::hours(24 * 365));
  const auto again = replay(*services_, decision.id);
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_TRUE(again->reproduced);
  EXPECT_TRUE(again->verdict.allowed);
  EXPECT_EQ(again->recomputed, decision.replay_digest);
}

}  // namespace
}  // namespace assay::server::test
