// SPDX-License-Identifier: Apache-2.0
// Decisions over a real store: the story's allow, each of its refusals, and replay.
#include "attestation/dsse.h"
#include "schemas/core/sha.h"
#include "server/service/decisions/case_file.h"
#include "tests/server/service/fixture.h"
#include "tests/server/service/hooked_store.h"

namespace assay::server::test {
namespace {

class Decide : public ServiceTest {
 protected:
  Decide() { put_policy_in_force(); }

  DecisionRequest request(const std::string& model, std::vector<std::string> places = {}) {
    DecisionRequest request{.point = DecisionPoint::kCreate,
                            .models = references_in(model),
                            .workload = {"inference", {}, {"nvidia.com/gpu"}},
                            .context = Json::object(),
                            .principal = "kube-apiserver"};
    request.workload.pod = true;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::string number = std::to_string(i);
      request.workload.mounts.push_back({.container = "server",
                                         .path = "/models/" + number,
                                         .volume = "model-" + number,
                                         .source = "persistentVolumeClaim",
                                         .location = places[i],
                                         .read_only = true});
    }
    return request;
  }
  // Version 2 of the policy: only `identity` publishes.
  void put_listed_policy(const std::string& identity) {
    Json document = parse_json(attestation::parse_envelope(policy(2)).value().payload).value();
    document["require"][0]["manifest"]["signers"]["identities"] = {identity};
    const auto accepted = accept_policy(
        *services_, envelope(kPolicyPayloadType, canonical_json(document).value(), {&author_}),
        actor_);
    ASSERT_TRUE(accepted) << to_string(accepted.error());
    const StatementId id = accepted->row.id;
    ASSERT_TRUE(apply_policy_approval(*services_, PolicyApproval::Action::kActivate, id,
                                      policy_approval(id, 2, policy_approver_), actor_));
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

using Models = std::vector<DecidedModel>;

bool has(const Decision& decision, Reason code) {
  const auto& reasons = decision.verdict.reasons;
  return std::find(reasons.begin(), reasons.end(), code) != reasons.end();
}

TEST_F(Decide, GoodModel_IsAllowedSignedAndLogged) {
  const Manifest model = manifest("good");
  store_good_model(model);
  const auto answer = decide(*services_, request("acme/demo", model.locations));
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_TRUE(answer->decision->verdict.allowed);
  EXPECT_EQ(answer->decision->models, (Models{{id_of(model), "acme/demo"}}));
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
  EXPECT_TRUE(has(decision, Reason::kManifestMissing));
  EXPECT_TRUE(has(decision, Reason::kStatementMissing));
  EXPECT_TRUE(has(decision, Reason::kReferenceUnbound));
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
  EXPECT_EQ(decision.verdict.reasons, std::vector<Reason>{Reason::kStatementMissing});
}

TEST_F(Decide, MetricBelowTheThreshold_IsRefused) {
  const Manifest model = manifest("m");
  store_good_model(model);
  ASSERT_TRUE(accept_attestation(*services_, evaluation(model, 0.5), actor_));
  const Decision decision = decide_on(model);
  EXPECT_FALSE(decision.verdict.allowed);
  EXPECT_EQ(decision.verdict.reasons, std::vector<Reason>{Reason::kPredicateMismatch});
}

TEST_F(Decide, OneIdentityApprovesTwiceWithTwoKeys_IsRefused) {
  const Manifest model = manifest("m");
  ASSERT_TRUE(accept_manifest(*services_, signed_manifest(model), actor_));
  ASSERT_TRUE(accept_attestation(*services_, evaluation(model, 0.95), actor_));
  ASSERT_TRUE(accept_attestation(*services_, approval(model, approver_a_, "one"), actor_));
  ASSERT_TRUE(accept_attestation(*services_, approval(model, approver_a_second_, "two"), actor_));
  const Decision decision = decide_on(model);
  EXPECT_FALSE(decision.verdict.allowed);
  EXPECT_EQ(decision.verdict.reasons, std::vector<Reason>{Reason::kSignersInsufficient});
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
  EXPECT_TRUE(has(decide_on(request("acme/demo")), Reason::kModelReferenceAmbiguous));
  const Decision decision = decide_on(request("acme/demo", two.locations));
  EXPECT_TRUE(decision.verdict.allowed);
  EXPECT_EQ(decision.models, (Models{{id_of(two), "acme/demo"}}));
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
  const Models own = {{id_of(model), "acme/demo"}};
  EXPECT_EQ(decide_on(request("acme/demo", model.locations)).models, own);
  EXPECT_EQ(decide_on(request("", model.locations)).models, own);
  const Decision asked = decide_on(request(other.text(), model.locations));
  EXPECT_EQ(asked.models, (Models{{other, ""}}));
  EXPECT_TRUE(has(asked, Reason::kReferenceUnbound)) << "it speaks of its own bytes";
}

TEST_F(Decide, PlaceAlone_StandsForTheModelItMapsTo) {
  const Manifest model = manifest("m");
  store_good_model(model);
  EXPECT_TRUE(decide_on(request("", model.locations)).verdict.allowed);
  EXPECT_TRUE(has(decide_on(request("")), Reason::kModelReferenceMissing));
}

TEST_F(Decide, PlaceThatTheManifestDoesNotName_IsUnbound) {
  const Manifest model = manifest("m");
  store_good_model(model);
  const Decision decision = decide_on(request("acme/demo", {"pvc://inference/other"}));
  EXPECT_EQ(decision.verdict.reasons,
            (std::vector{Reason::kReferenceUnbound, Reason::kVolumeUnaccounted}));
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

// --- several models

TEST_F(Decide, EveryNamedModel_IsJudged) {
  const Manifest base = manifest("base", "acme/demo");
  const Manifest adapter = manifest("adapter", "acme/lora");
  store_good_model(base);
  ASSERT_TRUE(accept_manifest(*services_, signed_manifest(adapter), actor_));
  const std::vector<std::string> places = {base.locations[0], adapter.locations[0]};
  const Decision denied = decide_on(request("acme/demo, acme/lora", places));
  EXPECT_EQ(denied.models, (Models{{id_of(base), "acme/demo"}, {id_of(adapter), "acme/lora"}}));
  EXPECT_EQ(denied.verdict.reasons, (std::vector{Reason::kStatementMissing}));
  for (const Bytes& bytes : {evaluation(adapter, 0.95), approval(adapter, approver_a_),
                             approval(adapter, approver_b_)}) {
    ASSERT_TRUE(accept_attestation(*services_, bytes, actor_));
  }
  const Decision allowed = decide_on(request("acme/demo,acme/lora", places));
  EXPECT_TRUE(allowed.verdict.allowed) << to_json(allowed.verdict).dump(1);
  EXPECT_EQ(allowed.verdict.policies.size(), 2U);
  const auto row = store_->snapshot().value()->decision(allowed.id).value();
  EXPECT_EQ(row.subjects.size(), 2U);
  EXPECT_TRUE(replay(*services_, allowed.id)->reproduced);
  // Both have to be mounted, and naming one does not account for the other.
  EXPECT_TRUE(
      has(decide_on(request("acme/demo,acme/lora", {places[0]})), Reason::kReferenceUnbound));
  EXPECT_TRUE(has(decide_on(request("acme/demo", places)), Reason::kVolumeUnaccounted));
}

TEST_F(Decide, MountsOfSeveralModels_NameThemAll) {
  const Manifest base = manifest("base", "acme/demo");
  const Manifest adapter = manifest("adapter", "acme/lora");
  store_good_model(base);
  store_good_model(adapter);
  const Decision decision = decide_on(request("", {base.locations[0], adapter.locations[0]}));
  EXPECT_TRUE(decision.verdict.allowed) << to_json(decision.verdict).dump(1);
  EXPECT_EQ(decision.models.size(), 2U);
}

TEST_F(Decide, MoreModelsThanAllowed_AreRefused) {
  store_good_model(manifest("m"));
  std::string nine = "acme/demo";
  for (int i = 1; i < 9; ++i) {
    nine += ",acme/demo";
  }
  const Decision decision = decide_on(request(nine, {"pvc://inference/m"}));
  EXPECT_EQ(decision.verdict.reasons.front(), Reason::kLimitExceeded);
  EXPECT_TRUE(decision.models.empty());
  // The same model named twice is one.
  EXPECT_TRUE(decide_on(request("acme/demo,acme/demo", {"pvc://inference/m"})).verdict.allowed);
}

TEST_F(Decide, MoreModelsThanAllowedInTheMounts_AreRefused) {
  std::vector<std::string> places;
  for (std::size_t i = 0; i < kMaxModels; ++i) {
    const Manifest one = manifest("m" + std::to_string(i), "acme/m" + std::to_string(i));
    store_good_model(one);
    places.push_back(one.locations[0]);
  }
  const Decision most = decide_on(request("", places));
  EXPECT_TRUE(most.verdict.allowed) << to_json(most.verdict).dump(1);
  EXPECT_EQ(most.models.size(), kMaxModels);
  const Manifest more = manifest("more", "acme/more");
  store_good_model(more);
  places.push_back(more.locations[0]);
  EXPECT_EQ(decide_on(request("", places)).verdict.reasons.front(), Reason::kLimitExceeded);
}

TEST_F(Decide, EmptyOrUnknownReferenceAmongOthers_IsRefused) {
  store_good_model(manifest("m"));
  for (const char* text : {"acme/demo,", ",acme/demo", "acme/demo,,acme/demo", "acme/demo,acme/x",
                           " ", "acme/demo;acme/demo"}) {
    EXPECT_TRUE(
        has(decide_on(request(text, {"pvc://inference/m"})), Reason::kModelReferenceMissing))
        << text;
  }
}

TEST_F(Decide, OneLocationOfTwoArtifacts_IsAmbiguousWithoutAReference) {
  Manifest one = manifest("one");
  Manifest two = manifest("two");
  two.locations = one.locations;
  store_good_model(one);
  store_good_model(two);
  EXPECT_TRUE(has(decide_on(request("", one.locations)), Reason::kModelReferenceAmbiguous));
  EXPECT_TRUE(decide_on(two).verdict.allowed) << "the artifact id says which";
}

// --- locations

// A second publisher, trusted but not listed by the policy, adds a location for the same bytes.
TEST_F(Decide, LocationOfAPublisherThatThePolicyDoesNotList_BindsNothing) {
  const Manifest model = manifest("m");
  store_good_model(model);
  const TestKey other = make_key(KeyPurpose::kPublisher, "mallory", {publisher_role()});
  ASSERT_TRUE(apply_trust_change(
      *services_, trust_change(1, {AddKey{other.record}}, {&operator1_, &operator2_}), actor_));
  Manifest moved = manifest("m");
  moved.locations = {"hostpath:///data/evil"};
  ASSERT_TRUE(accept_manifest(*services_, signed_manifest(moved, {&other}), actor_));
  put_listed_policy(publisher_.record.identity);
  EXPECT_TRUE(has(decide_on(request("acme/demo", moved.locations)), Reason::kReferenceUnbound));
  EXPECT_TRUE(decide_on(request("acme/demo", model.locations)).verdict.allowed);
}

TEST_F(Decide, LocationUnderAnotherName_BindsNothing) {
  const Manifest model = manifest("m");
  store_good_model(model);
  Manifest renamed = manifest("m", "acme/other");
  renamed.locations = {"pvc://inference/other"};
  ASSERT_TRUE(accept_manifest(*services_, signed_manifest(renamed), actor_));
  const std::string id = id_of(model).text();
  EXPECT_TRUE(
      has(decide_on(request("acme/demo@" + id, renamed.locations)), Reason::kReferenceUnbound));
  EXPECT_TRUE(decide_on(request("acme/demo@" + id, model.locations)).verdict.allowed);
  EXPECT_TRUE(decide_on(request("acme/other@" + id, renamed.locations)).verdict.allowed);
}

TEST_F(Decide, NameThatNoManifestSays_IsRefused) {
  const Manifest model = manifest("m");
  store_good_model(model);
  EXPECT_TRUE(has(decide_on(request("acme/x@" + id_of(model).text(), model.locations)),
                  Reason::kSubjectMismatch));
}

// Whoever asks by REST describes no pod.
TEST_F(Decide, WorkloadWithoutPod_IsJudgedWithoutMounts) {
  const Manifest model = manifest("m");
  store_good_model(model);
  DecisionRequest asked = request("acme/demo");
  asked.workload.pod = false;
  EXPECT_TRUE(decide_on(asked).verdict.allowed);
}

// --- cases of other versions

// Stores `text` as a case and reads it.
class CaseFiles : public ServiceTest {
 protected:
  std::optional<ErrorCode> refusal_of(const Json& json) {
    std::optional<DocumentId> id;
    const auto work = [&](storage::Transaction& transaction) -> Status {
      ASSAY_ASSIGN(id, transaction.put_document("application/json", as_bytes(json.dump())));
      return {};
    };
    EXPECT_TRUE(store_->write(work));
    return refusal(load_case(*store_->snapshot().value(), *id));
  }
};

TEST_F(CaseFiles, OfAnotherFormatOrOtherRules_AreNotJudgedAgain) {
  const CaseFile file{{CaseModel{{}, {}, {}}}, {}, {}, {}, DecisionPoint::kCreate};
  const StoredCase stored = encode(file).value();
  ASSERT_TRUE(store_->write(
      [&](storage::Transaction& transaction) { return put_case(transaction, stored); }));
  EXPECT_TRUE(load_case(*store_->snapshot().value(), stored.file.id));
  const Json json = parse_json(stored.file.bytes).value();
  for (const char* member : {"format", "evaluator"}) {
    Json other = json;
    other[member] = 1;
    EXPECT_EQ(refusal_of(other), ErrorCode::kCaseUnsupported);
    other.erase(member);
    EXPECT_EQ(refusal_of(other), ErrorCode::kCaseUnsupported);
  }
  for (const char* member : {"models", "workload", "preconditions", "policies", "point"}) {
    Json broken = json;
    broken[member] = Json::array();
    if (broken[member] != json[member]) {
      EXPECT_EQ(refusal_of(broken), ErrorCode::kDataLoss) << member;
    }
    broken.erase(member);
    EXPECT_EQ(refusal_of(broken), ErrorCode::kDataLoss) << member;
  }
  Json missing = json;
  missing["workload"] = DocumentId(sha256(as_bytes("nowhere"))).text();
  EXPECT_EQ(refusal_of(missing), ErrorCode::kDataLoss);
}

}  // namespace
}  // namespace assay::server::test
