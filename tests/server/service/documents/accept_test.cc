// SPDX-License-Identifier: Apache-2.0
// What is accepted, what is refused and with which code; that a refusal stores nothing.

#include "server/service/documents/accept.h"

#include "schemas/core/merkle.h"
#include "schemas/core/sha.h"
#include "schemas/placement.h"
#include "server/service/facts/artifact_facts.h"
#include "server/service/governance/policies.h"
#include "server/service/governance/trust.h"
#include "server/service/references/resolve.h"
#include "tests/server/service/fixture.h"

namespace assay::server::test {
namespace {

class Accept : public ServiceTest {};

TEST_F(Accept, GoodManifest_IsStoredExactlyAndProven) {
  const Bytes bytes = signed_manifest(manifest("a"));
  const auto accepted = accept_manifest(*services_, bytes, actor_);
  ASSERT_TRUE(accepted) << to_string(accepted.error());
  EXPECT_TRUE(accepted->created);
  const auto snapshot = store_->snapshot().value();
  EXPECT_EQ(snapshot->document(accepted->row.envelopes.front()).value().bytes, bytes);
  const Json& receipt = accepted->receipt;
  std::vector<Digest> path;
  for (const Json& hex : receipt["inclusion"]) {
    path.push_back(Digest::from_hex(HashAlgorithm::kSha256, hex.get<std::string>()).value());
  }
  const auto leaf =
      Digest::from_hex(HashAlgorithm::kSha256, receipt["leaf_hash"].get<std::string>()).value();
  const auto checkpoint = parse_checkpoint(receipt["checkpoint"].get<std::string>()).value();
  EXPECT_TRUE(verify_inclusion(leaf, receipt["index"].get<LeafIndex>(), checkpoint.checkpoint.size,
                               path, checkpoint.checkpoint.root));
}

TEST_F(Accept, SameManifestAgain_IsFoundNotStoredTwice) {
  const Bytes bytes = signed_manifest(manifest("a"));
  const auto first = accept_manifest(*services_, bytes, actor_).value();
  const TreeSize size = log_size();
  const auto second = accept_manifest(*services_, bytes, actor_).value();
  EXPECT_FALSE(second.created);
  EXPECT_EQ(second.row.log_index, first.row.log_index);
  EXPECT_EQ(log_size(), size);
}

TEST_F(Accept, SecondPublisherSigns_AddsTheSignatureWithItsOwnTime) {
  const TestKey other = make_key(KeyPurpose::kPublisher, "mirror", {publisher_role()});
  ASSERT_TRUE(apply_trust_change(
      *services_, trust_change(1, {AddKey{other.record}}, {&operator1_, &operator2_}), actor_));
  const Manifest model = manifest("a");
  ASSERT_TRUE(accept_manifest(*services_, signed_manifest(model), actor_));
  clock_.advance(std::chrono::hours(1));
  const auto both =
      accept_manifest(*services_, signed_manifest(model, {&publisher_, &other}), actor_);
  ASSERT_TRUE(both) << to_string(both.error());
  EXPECT_TRUE(both->created);
  ASSERT_EQ(both->row.signers.size(), 2U);
  EXPECT_EQ(both->row.signers[1].signed_at - both->row.signers[0].signed_at, std::chrono::hours(1));
}

// The receipt of the first signer's record would still verify when the second one's was left out.
TEST_F(Accept, SecondSignature_GetsTheReceiptOfItsOwnRecord) {
  const TestKey other = make_key(KeyPurpose::kPublisher, "mirror", {publisher_role()});
  ASSERT_TRUE(apply_trust_change(
      *services_, trust_change(1, {AddKey{other.record}}, {&operator1_, &operator2_}), actor_));
  const Manifest model = manifest("a");
  const Bytes by_first = signed_manifest(model);
  const Bytes by_second = signed_manifest(model, {&other});
  const auto first = accept_manifest(*services_, by_first, actor_).value();
  const auto second = accept_manifest(*services_, by_second, actor_).value();
  const auto index = [](const Accepted& accepted) {
    return accepted.receipt["index"].get<LeafIndex>();
  };
  EXPECT_EQ(index(first), first.row.log_index);
  EXPECT_EQ(index(second), first.row.log_index + 1);
  EXPECT_EQ(second.row.log_index, first.row.log_index);
  EXPECT_EQ(second.row.signers[0].log_index, index(first));
  EXPECT_EQ(second.row.signers[1].log_index, index(second));
  EXPECT_EQ(second.record["detail"]["signers"], Json::array({other.record.id.text()}));
  EXPECT_EQ(second.record["documents"], Json::array({DocumentId(sha256(by_second)).text()}));
  const std::string leaf =
      merkle_leaf(HashAlgorithm::kSha256, as_bytes(canonical_json(second.record).value())).hex();
  EXPECT_EQ(second.receipt["leaf_hash"], leaf);
  // Everybody who sends a signature again is answered with the record that names it.
  EXPECT_EQ(index(accept_manifest(*services_, by_first, actor_).value()), index(first));
  EXPECT_EQ(index(accept_manifest(*services_, by_second, actor_).value()), index(second));
  EXPECT_EQ(index(accept_manifest(*services_, signed_manifest(model, {&publisher_, &other}), actor_)
                      .value()),
            index(second));
  // A log without that record keeps no promise of this receipt.
  const auto snapshot = store_->snapshot().value();
  for (LeafIndex i = 0; i < snapshot->log_state()->size; ++i) {
    const Digest one = merkle_leaf(HashAlgorithm::kSha256, snapshot->log_record(i).value());
    EXPECT_EQ(one.hex() == leaf, i == index(second)) << i;
  }
}

TEST_F(Accept, UnknownKey_IsRefusedAndNothingIsStored) {
  const TestKey stranger = make_key(KeyPurpose::kPublisher, "stranger", {publisher_role()});
  const TreeSize size = log_size();
  EXPECT_EQ(
      refusal(accept_manifest(*services_, signed_manifest(manifest("a"), {&stranger}), actor_)),
      ErrorCode::kUntrustedSigner);
  EXPECT_EQ(log_size(), size);
}

TEST_F(Accept, KeyOfAnotherPurpose_IsRefused) {
  EXPECT_EQ(
      refusal(accept_manifest(*services_, signed_manifest(manifest("a"), {&evaluator_}), actor_)),
      ErrorCode::kWrongPurpose);
}

TEST_F(Accept, NameOutsideThePublishersNamespace_IsRefused) {
  EXPECT_EQ(
      refusal(accept_manifest(*services_, signed_manifest(manifest("a", "other/demo")), actor_)),
      ErrorCode::kRoleNotGranted);
}

TEST_F(Accept, RevokedPublisher_IsRefused) {
  ASSERT_TRUE(apply_trust_change(
      *services_,
      trust_change(1, {RevokeKey{publisher_.record.id, "stolen"}}, {&operator1_, &operator2_}),
      actor_));
  EXPECT_EQ(refusal(accept_manifest(*services_, signed_manifest(manifest("a")), actor_)),
            ErrorCode::kKeyRevoked);
}

TEST_F(Accept, ExpiredPublisher_IsRefused) {
  clock_.set(parse_rfc3339("2027-01-01T00:00:00.001Z").value());
  EXPECT_EQ(refusal(accept_manifest(*services_, signed_manifest(manifest("a")), actor_)),
            ErrorCode::kKeyExpired);
}

TEST_F(Accept, ManifestWithAnotherRoot_IsRefused) {
  Statement statement = to_statement(manifest("a")).value();
  statement.subjects[0].digest = subject_of(manifest("b")).digest;
  EXPECT_EQ(
      refusal(accept_manifest(*services_, statement_envelope(statement, {&publisher_}), actor_)),
      ErrorCode::kRootMismatch);
}

TEST_F(Accept, PathTraversalInManifest_IsRefused) {
  Statement statement = to_statement(manifest("a")).value();
  statement.predicate["entries"][0]["path"] = "../etc/passwd";
  EXPECT_EQ(
      refusal(accept_manifest(*services_, statement_envelope(statement, {&publisher_}), actor_)),
      ErrorCode::kInvalidPath);
}

TEST_F(Accept, UnknownMemberInManifest_IsRefused) {
  Statement statement = to_statement(manifest("a")).value();
  statement.predicate["surprise"] = 1;
  EXPECT_EQ(
      refusal(accept_manifest(*services_, statement_envelope(statement, {&publisher_}), actor_)),
      ErrorCode::kUnknownMember);
}

TEST_F(Accept, EveryByteFlippedInAnEnvelope_IsRefusedOrTheSameStatement) {
  const Bytes good = signed_manifest(manifest("a"));
  const auto stored = accept_manifest(*services_, good, actor_).value();
  const TreeSize size = log_size();
  for (std::size_t i = 0; i < good.size(); ++i) {
    Bytes bad = good;
    bad[i] ^= 0x01;
    const auto result = accept_manifest(*services_, bad, actor_);
    if (result) {  // the keyid is a hint and not signed
      EXPECT_EQ(result->row.id, stored.row.id) << i;
      EXPECT_FALSE(result->created) << i;
    } else {
      EXPECT_LT(info(result.error().code).http_status, 500) << i;
    }
  }
  EXPECT_EQ(log_size(), size);
}

TEST_F(Accept, StageOutsideTheSignersRole_IsRefused) {
  Lifecycle lifecycle;
  lifecycle.stage = "train";
  const Bytes bytes = statement_envelope(
      to_statement(lifecycle, {subject_of(manifest("a"))}).value(), {&evaluator_});
  EXPECT_EQ(refusal(accept_attestation(*services_, bytes, actor_)), ErrorCode::kRoleNotGranted);
}

TEST_F(Accept, SecondSubjectOutsideTheNamespace_IsRefused) {
  Lifecycle lifecycle;
  lifecycle.stage = "evaluate";
  Subject other = subject_of(manifest("b"));
  other.name = "elsewhere/model";
  const Bytes bytes = statement_envelope(
      to_statement(lifecycle, {subject_of(manifest("a")), other}).value(), {&evaluator_});
  EXPECT_EQ(refusal(accept_attestation(*services_, bytes, actor_)), ErrorCode::kRoleNotGranted);
}

TEST_F(Accept, ManifestOnTheAttestationRoute_IsRefused) {
  EXPECT_EQ(refusal(accept_attestation(*services_, signed_manifest(manifest("a")), actor_)),
            ErrorCode::kPredicateTypeUnknown);
}

// --- placements

Statement placement_of(const Manifest& manifest, const std::string& location,
                       const std::string& name) {
  return to_statement(Placement{name, artifact_id(manifest).value(), {location}}).value();
}

constexpr const char* kMoved = "pvc://prod/moved/demo";

TEST_F(Accept, PlacementByAPublisherOfTheName_IsStoredWithItsLocations) {
  const Manifest model = manifest("a");
  ASSERT_TRUE(accept_manifest(*services_, signed_manifest(model), actor_));
  const auto accepted = accept_attestation(
      *services_, statement_envelope(placement_of(model, kMoved, model.name), {&publisher_}),
      actor_);
  ASSERT_TRUE(accepted) << to_string(accepted.error());
  EXPECT_EQ(accepted->row.locations, std::vector<std::string>{kMoved});
  EXPECT_EQ(accepted->row.name, model.name);
  const auto snapshot = store_->snapshot().value();
  const auto found = snapshot->signed_at(kMoved).value();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(snapshot->statement_at(found[0].index)->subjects.front(), id_of(model).text());
  const policy::Facts facts = artifact_facts(*services_, *snapshot, id_of(model)).value()->facts;
  ASSERT_EQ(facts.placements.size(), 1U);
  EXPECT_EQ(facts.placements[0].locations, std::vector<std::string>{kMoved});
  EXPECT_EQ(facts.placements[0].statement.signers[0].key.identity, "release");
  EXPECT_TRUE(facts.statements.empty());
  EXPECT_EQ(facts.manifests.size(), 1U);
}

// The pod that mounts the new place needs no annotation either.
TEST_F(Accept, PlacementResolvesAMountedLocation_UntilItsKeyIsRevoked) {
  const Manifest model = manifest("a");
  ASSERT_TRUE(accept_manifest(*services_, signed_manifest(model), actor_));
  ASSERT_TRUE(accept_attestation(
      *services_, statement_envelope(placement_of(model, kMoved, model.name), {&publisher_}),
      actor_));
  policy::Workload workload;
  workload.name_space = "prod";
  workload.pod = true;
  workload.mounts = {{"c", "/models", "v", "persistentVolumeClaim", kMoved}};
  const auto models = [&] {
    return resolve(*services_, *store_->snapshot().value(),
                   {{}, workload, {}, DecisionPoint::kCreate, clock_.now()})
        .value()
        .models;
  };
  ASSERT_EQ(models().size(), 1U);
  EXPECT_EQ(models()[0].artifact, id_of(model));
  ASSERT_TRUE(apply_trust_change(
      *services_,
      trust_change(1, {RevokeKey{publisher_.record.id, "stolen"}}, {&operator1_, &operator2_}),
      actor_));
  EXPECT_TRUE(models().empty());
}

TEST_F(Accept, PlacementByAnybodyElse_IsRefused) {
  const Manifest model = manifest("a");
  const auto code = [&](const TestKey& key, const std::string& name) {
    return refusal(accept_attestation(
        *services_, statement_envelope(placement_of(model, kMoved, name), {&key}), actor_));
  };
  EXPECT_EQ(code(evaluator_, model.name), ErrorCode::kWrongPurpose);
  EXPECT_EQ(code(publisher_, "other/demo"), ErrorCode::kRoleNotGranted);
  const TestKey stranger = make_key(KeyPurpose::kPublisher, "stranger", {publisher_role()});
  EXPECT_EQ(code(stranger, model.name), ErrorCode::kUntrustedSigner);
  EXPECT_TRUE(store_->snapshot().value()->signed_at(kMoved).value().empty());
}

TEST_F(Accept, PlacementThatIsNone_IsRefused) {
  Statement statement = placement_of(manifest("a"), kMoved, "acme/demo");
  statement.predicate["locations"] = {"pvc://prod/moved/../other"};
  EXPECT_EQ(
      refusal(accept_attestation(*services_, statement_envelope(statement, {&publisher_}), actor_)),
      ErrorCode::kSchemaViolation);
}

TEST_F(Accept, PolicyVersionWithOtherContent_Conflicts) {
  ASSERT_TRUE(accept_policy(*services_, policy(1), actor_));
  EXPECT_EQ(refusal(accept_policy(*services_, policy(1, "warn"), actor_)), ErrorCode::kConflict);
  EXPECT_TRUE(accept_policy(*services_, policy(2, "warn"), actor_));
}

TEST_F(Accept, ApprovalByTheAuthorsIdentity_IsRefused) {
  const StatementId id = accept_policy(*services_, policy(), actor_).value().row.id;
  const TestKey own = make_key(KeyPurpose::kApprover, "paula");
  ASSERT_TRUE(apply_trust_change(
      *services_, trust_change(1, {AddKey{own.record}}, {&operator1_, &operator2_}), actor_));
  EXPECT_EQ(refusal(apply_policy_approval(*services_, PolicyApproval::Action::kActivate, id,
                                          policy_approval(id, 1, own), actor_)),
            ErrorCode::kThresholdNotMet);
}

TEST_F(Accept, ApprovalAppliedTwice_AnswersAsTheFirstTime) {
  const StatementId id = put_policy_in_force();
  const TreeSize size = log_size();
  const auto again = apply_policy_approval(*services_, PolicyApproval::Action::kActivate, id,
                                           policy_approval(id, 1, policy_approver_), actor_);
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_EQ(again->policy_epoch, 1U);
  EXPECT_EQ(log_size(), size);
}

TEST_F(Accept, ApprovalThatALaterOneReplaced_IsNotAnsweredAsTheFirstTime) {
  const StatementId id = put_policy_in_force();
  const auto deactivated = apply_policy_approval(
      *services_, PolicyApproval::Action::kDeactivate, id,
      policy_approval(id, 2, policy_approver_, PolicyApproval::Action::kDeactivate), actor_);
  ASSERT_TRUE(deactivated) << to_string(deactivated.error());
  EXPECT_EQ(refusal(apply_policy_approval(*services_, PolicyApproval::Action::kActivate, id,
                                          policy_approval(id, 1, policy_approver_), actor_)),
            ErrorCode::kTrustSequence);
}

TEST_F(Accept, PolicyWhoseAuthorIsRevoked_GoesOutOfForceAndNotBack) {
  const StatementId id = put_policy_in_force();
  ASSERT_TRUE(apply_trust_change(
      *services_,
      trust_change(1, {RevokeKey{author_.record.id, "stolen"}}, {&operator1_, &operator2_}),
      actor_));
  const auto deactivated = apply_policy_approval(
      *services_, PolicyApproval::Action::kDeactivate, id,
      policy_approval(id, 2, policy_approver_, PolicyApproval::Action::kDeactivate), actor_);
  ASSERT_TRUE(deactivated) << to_string(deactivated.error());
  EXPECT_EQ(refusal(apply_policy_approval(*services_, PolicyApproval::Action::kActivate, id,
                                          policy_approval(id, 3, policy_approver_), actor_)),
            ErrorCode::kUntrustedSigner);
}

TEST_F(Accept, ApprovalForAnotherEpochOrPolicy_IsRefused) {
  const StatementId id = accept_policy(*services_, policy(), actor_).value().row.id;
  const StatementId other = accept_policy(*services_, policy(2), actor_).value().row.id;
  EXPECT_EQ(refusal(apply_policy_approval(*services_, PolicyApproval::Action::kActivate, id,
                                          policy_approval(id, 2, policy_approver_), actor_)),
            ErrorCode::kTrustSequence);
  EXPECT_EQ(refusal(apply_policy_approval(*services_, PolicyApproval::Action::kActivate, id,
                                          policy_approval(other, 1, policy_approver_), actor_)),
            ErrorCode::kSubjectMismatch);
}

TEST_F(Accept, TrustChangeByOneIdentityTwice_IsRefused) {
  const TestKey added = make_key(KeyPurpose::kAuthor, "new");
  EXPECT_EQ(
      refusal(apply_trust_change(
          *services_, trust_change(1, {AddKey{added.record}}, {&operator1_, &operator1_second_}),
          actor_)),
      ErrorCode::kThresholdNotMet);
}

TEST_F(Accept, TrustChangeReplayed_ChangesNothing) {
  const TestKey added = make_key(KeyPurpose::kAuthor, "new");
  const Bytes change = trust_change(1, {AddKey{added.record}}, {&operator1_, &operator2_});
  ASSERT_TRUE(apply_trust_change(*services_, change, actor_));
  const TreeSize size = log_size();
  const auto again = apply_trust_change(*services_, change, actor_);
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_EQ(again->epochs.trust.trust, 1U);
  EXPECT_EQ(log_size(), size);
}

TEST_F(Accept, RevokedKey_CannotComeBack) {
  ASSERT_TRUE(apply_trust_change(
      *services_,
      trust_change(1, {RevokeKey{author_.record.id, "left"}}, {&operator1_, &operator2_}), actor_));
  EXPECT_EQ(refusal(apply_trust_change(
                *services_, trust_change(2, {AddKey{author_.record}}, {&operator1_, &operator2_}),
                actor_)),
            ErrorCode::kConflict);
}

TEST_F(Accept, ChangeThatLeavesOneOperator_IsRefusedAsAWhole) {
  EXPECT_EQ(refusal(apply_trust_change(*services_,
                                       trust_change(1,
                                                    {RevokeKey{author_.record.id, "left"},
                                                     RevokeKey{operator2_.record.id, "left"}},
                                                    {&operator1_, &operator2_}),
                                       actor_)),
            ErrorCode::kConflict);
  const auto snapshot = store_->snapshot().value();
  EXPECT_FALSE(snapshot->key(author_.record.id).value().revoked);
  EXPECT_EQ(snapshot->epochs().value().trust.trust, 0U);
}

TEST_F(Accept, SecondBootstrap_IsRefused) {
  Bootstrap again;
  again.keys = {operator1_.record, operator2_.record};
  EXPECT_FALSE(bootstrap(*services_, as_bytes(canonical_json(to_json(again)).value())));
}

}  // namespace
}  // namespace assay::server::test
