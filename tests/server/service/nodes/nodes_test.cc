// SPDX-License-Identifier: Apache-2.0
// Challenges and enrolment: who may become a node, and every way in which one may not.
#include <algorithm>
#include <thread>

#include "attestation/ear.h"
#include "schemas/core/sha.h"
#include "tests/server/service/node_fixture.h"

namespace assay::server::test {
namespace {

namespace tdx = attestation::tdx;

class Nodes : public NodeTest {
 protected:
  // Refused with this code, and the node is what it was.
  template <typename T>
  void expect_refused(const Result<T>& result, ErrorCode code, const std::string& node = "gpu-1") {
    ASSERT_FALSE(result);
    EXPECT_EQ(info(result.error().code).code, info(code).code) << result.error().detail;
    EXPECT_EQ(node_row(node), before_);
  }
  // Refused for the evidence, with this code of TDX, and logged.
  void expect_rejected(const Result<Enrolled>& result, const std::string& tdx_code) {
    expect_refused(result, ErrorCode::kEvidenceRejected);
    ASSERT_FALSE(result);
    EXPECT_TRUE(result.error().detail.starts_with(tdx_code + ": ")) << result.error().detail;
    EXPECT_EQ(newest_records(1), (std::vector<std::string>{"evidence.appraised"}));
  }
  void remember(const std::string& node = "gpu-1") { before_ = node_row(node); }

  std::optional<Json> before_;
};

// --- challenges

TEST_F(Nodes, Challenge_IsForEnrolmentsOnly) {
  for (const auto purpose : {ChallengePurpose::kReport, ChallengePurpose::kSpot}) {
    EXPECT_EQ(refusal(issue_challenge(*services_, {purpose, "gpu-1"}, worker_.principal)),
              ErrorCode::kInvalidParameter);
  }
  EXPECT_EQ(
      refusal(issue_challenge(*services_, {ChallengePurpose::kEnrol, "GPU_1"}, worker_.principal)),
      ErrorCode::kInvalidParameter);
}

TEST_F(Nodes, Challenge_NamesAudienceAndEnd) {
  const Challenge first = challenge(worker_);
  EXPECT_EQ(first.audience, "example.com/log");
  EXPECT_EQ(first.expires_at - clock_.now(), std::chrono::seconds(120));
  EXPECT_NE(first.nonce, challenge(worker_).nonce);
}

TEST_F(Nodes, UnknownNonce_IsRefused) {
  const Bytes bytes = signed_enrolment(enrolment(worker_, Nonce{}), *worker_.key);
  expect_refused(enrol(*services_, bytes, worker_.principal), ErrorCode::kChallengeUnknown);
}

TEST_F(Nodes, ReplayedNonce_IsChallengeUsed) {
  enrol_ok(worker_);
  remember();
  const Nonce nonce = challenge(worker_).nonce;
  ASSERT_TRUE(enrol(*services_, signed_enrolment(enrolment(worker_, nonce), *worker_.key),
                    worker_.principal));
  remember();
  const auto again = [](Enrolment& made) { made.devices.clear(); };
  expect_refused(enrol(*services_, signed_enrolment(enrolment(worker_, nonce, again), *worker_.key),
                       worker_.principal),
                 ErrorCode::kChallengeUsed);
}

TEST_F(Nodes, NonceOfARefusedEnrolment_IsSpent) {
  const Nonce nonce = challenge(worker_).nonce;
  const auto wrong = [](Enrolment& made) { made.request.audience = "elsewhere"; };
  expect_refused(enrol(*services_, signed_enrolment(enrolment(worker_, nonce, wrong), *worker_.key),
                       worker_.principal),
                 ErrorCode::kEnrolmentMismatch);
  expect_refused(enrol(*services_, signed_enrolment(enrolment(worker_, nonce), *worker_.key),
                       worker_.principal),
                 ErrorCode::kChallengeUsed);
}

TEST_F(Nodes, NonceOfAnotherNode_IsChallengeMismatch) {
  const Challenge for_other = challenge({"gpu-9", worker_.principal, nullptr});
  expect_refused(
      enrol(*services_, signed_enrolment(enrolment(worker_, for_other.nonce), *worker_.key),
            worker_.principal),
      ErrorCode::kChallengeMismatch);
}

TEST_F(Nodes, NonceOfAnotherPrincipal_IsChallengeMismatch) {
  const Challenge for_other = challenge({worker_.node, other_.principal, nullptr});
  expect_refused(
      enrol(*services_, signed_enrolment(enrolment(worker_, for_other.nonce), *worker_.key),
            worker_.principal),
      ErrorCode::kChallengeMismatch);
}

TEST_F(Nodes, NonceOfAnotherPurpose_IsChallengeMismatch) {
  enrol_ok(worker_);
  store_model(model_);
  new_job(model_, worker_.node);
  const JobLease leased = lease(worker_);
  remember();
  expect_refused(
      enrol(*services_, signed_enrolment(enrolment(worker_, leased.challenge.nonce), *worker_.key),
            worker_.principal),
      ErrorCode::kChallengeMismatch);
}

TEST_F(Nodes, ExpiredNonce_IsChallengeExpired) {
  const Bytes bytes = good_enrolment(worker_);
  clock_.advance(std::chrono::seconds(120));
  expect_refused(enrol(*services_, bytes, worker_.principal), ErrorCode::kChallengeExpired);
}

// --- enrolment

TEST_F(Nodes, GoodEnrolment_IsMeasuredStoredAndLogged) {
  const auto ear_key = attestation::generate_key(SignatureAlgorithm::kEcdsaP256).value();
  services_->ear_signer = ear_key.get();
  services_->version = "1.2.3";
  const auto enrolled = enrol(*services_, good_enrolment(worker_), worker_.principal);
  ASSERT_TRUE(enrolled) << to_string(enrolled.error());
  EXPECT_FALSE(enrolled->renewed);
  ASSERT_TRUE(enrolled->node.measured);
  EXPECT_EQ(enrolled->node.measured->tcb_status, "UpToDate");
  EXPECT_FALSE(enrolled->node.measured->anchor_is_vendor);
  EXPECT_EQ(enrolled->node.measured->anchor, Anchor::root(sha256(tdx::simulate(platform()).root)));
  EXPECT_EQ(enrolled->node.expires_at - clock_.now(), std::chrono::hours(24));
  EXPECT_EQ(newest_records(2), (std::vector<std::string>{"evidence.appraised", "node.enrolled"}));
  const auto key = attestation::PublicKey::from_der(ear_key->public_key()).value();
  const auto ear = attestation::verify_ear(enrolled->ear.get<std::string>(), key, "example.com/log",
                                           clock_.now());
  ASSERT_TRUE(ear) << to_string(ear.error());
  EXPECT_EQ(enrolled_view(*enrolled)["worker_measured"], true);
  EXPECT_EQ(enrolled->receipt["index"], enrolled->node.log_index);
}

TEST_F(Nodes, SameEnvelopeAgain_IsAnsweredAsBefore) {
  const auto ear_key = attestation::generate_key(SignatureAlgorithm::kEcdsaP256).value();
  services_->ear_signer = ear_key.get();
  const Bytes bytes = good_enrolment(worker_);
  const auto first = enrol(*services_, bytes, worker_.principal).value();
  const TreeSize size = log_size();
  const auto again = enrol(*services_, bytes, worker_.principal);
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_EQ(again->ear, first.ear);
  EXPECT_EQ(again->node.log_index, first.node.log_index);
  EXPECT_EQ(log_size(), size);
  // Of somebody else it is no repetition.
  EXPECT_EQ(refusal(enrol(*services_, bytes, other_.principal)), ErrorCode::kChallengeUsed);
}

TEST_F(Nodes, Renewal_KeepsTheNodeForLonger) {
  enrol_ok(worker_);
  clock_.advance(std::chrono::hours(20));
  const auto renewed = enrol(*services_, good_enrolment(worker_), worker_.principal);
  ASSERT_TRUE(renewed) << to_string(renewed.error());
  EXPECT_TRUE(renewed->renewed);
  EXPECT_EQ(renewed->node.expires_at - clock_.now(), std::chrono::hours(24));
}

TEST_F(Nodes, NewKeyOfTheSameNode_ReplacesTheOld) {
  enrol_ok(worker_);
  Worker restarted = make_worker(worker_.node, worker_.principal.name);
  const auto enrolled = enrol(*services_, good_enrolment(restarted), restarted.principal);
  ASSERT_TRUE(enrolled) << to_string(enrolled.error());
  EXPECT_FALSE(enrolled->renewed);
  EXPECT_EQ(enrolled->node.key, restarted.key->key_id());
}

TEST_F(Nodes, EnrolmentEnds_WithTheCollateral) {
  services_->nodes.enrolment_life = std::chrono::hours(24 * 365);
  const auto enrolled = enrol(*services_, good_enrolment(worker_), worker_.principal);
  ASSERT_TRUE(enrolled) << to_string(enrolled.error());
  EXPECT_LE(enrolled->node.expires_at - clock_.now(), std::chrono::hours(24 * 30));
}

TEST_F(Nodes, AnotherWorkersKey_IsSignatureInvalid) {
  const Bytes bytes = signed_enrolment(enrolment(worker_, challenge(worker_).nonce), *other_.key);
  expect_refused(enrol(*services_, bytes, worker_.principal), ErrorCode::kUntrustedSigner);
  // Without the hint that names it.
  auto envelope = attestation::parse_envelope(
                      signed_enrolment(enrolment(worker_, challenge(worker_).nonce), *other_.key))
                      .value();
  envelope.signatures.front().keyid_hint.clear();
  const std::string bare = attestation::encode_envelope(envelope);
  expect_refused(enrol(*services_, as_bytes(bare), worker_.principal),
                 ErrorCode::kSignatureInvalid);
}

TEST_F(Nodes, TwoSignatures_AreSignatureInvalid) {
  auto envelope = attestation::parse_envelope(good_enrolment(worker_)).value();
  ASSERT_TRUE(attestation::add_signature(envelope, *other_.key));
  const std::string bytes = attestation::encode_envelope(envelope);
  expect_refused(enrol(*services_, as_bytes(bytes), worker_.principal),
                 ErrorCode::kSignatureInvalid);
}

TEST_F(Nodes, ReencodedSignature_IsSignatureInvalid) {
  auto envelope = attestation::parse_envelope(good_enrolment(worker_)).value();
  Bytes& signature = envelope.signatures.front().signature;
  // The same two numbers, the length of the sequence in the long form of BER.
  signature.insert(signature.begin() + 1, 0x81);
  const std::string bytes = attestation::encode_envelope(envelope);
  expect_refused(enrol(*services_, as_bytes(bytes), worker_.principal),
                 ErrorCode::kSignatureInvalid);
}

TEST_F(Nodes, RelayedUnderAnotherName_IsReportDataMismatch) {
  // The evidence of an enrolment as gpu-1 under the same nonce, in an enrolment as gpu-2.
  const Nonce nonce = challenge(other_).nonce;
  const Enrolment honest = enrolment(worker_, nonce);
  const auto steal = [&](Enrolment& made) { made.evidence = honest.evidence; };
  const Bytes bytes = signed_enrolment(enrolment(other_, nonce, {}, steal), *other_.key);
  expect_rejected(enrol(*services_, bytes, other_.principal), "REPORT_DATA_MISMATCH");
  EXPECT_EQ(node_row(other_.node), std::nullopt);
}

TEST_F(Nodes, RelayedFromAnotherService_IsEnrolmentMismatch) {
  expect_refused(
      enrol_with(worker_, [](Enrolment& made) { made.request.audience = "evil.example/log"; }),
      ErrorCode::kEnrolmentMismatch);
  // With the right words around evidence that was made for the other service.
  const auto relabel = [](Enrolment& made) { made.request.audience = "example.com/log"; };
  expect_rejected(
      enrol_with(
          worker_, [](Enrolment& made) { made.request.audience = "evil.example/log"; }, relabel),
      "REPORT_DATA_MISMATCH");
}

TEST_F(Nodes, AnotherPlatform_IsEnrolmentMismatch) {
  expect_refused(
      enrol_with(worker_, [](Enrolment& made) { made.request.platform = std::string(32, '0'); }),
      ErrorCode::kEnrolmentMismatch);
}

TEST_F(Nodes, SimulatorWithoutTheDangerousAnchor_IsRejected) {
  Appraisal appraisal = simulator_appraisal();
  appraisal.dangerous_anchors.clear();
  put_appraisal(appraisal);
  // Against the vendor's root the first thing that fails is the simulator's root CRL.
  expect_rejected(enrol_with(worker_, {}), "ROOT_CRL_SIGNATURE");
}

TEST_F(Nodes, TruncatedQuote_IsRejected) {
  expect_rejected(
      enrol_with(worker_, {}, [](Enrolment& made) { made.evidence->quote.resize(600); }),
      "QUOTE_TRUNCATED");
}

TEST_F(Nodes, QuoteOfAnotherTd_IsRejected) {
  const auto foreign = [this](Enrolment& made) {
    made.evidence =
        evidence_for(enrolment_report_data(made.nonce, made.public_key, made.request),
                     [](tdx::SimulationSpec& spec) { spec.quote.report.mrtd.fill(0x42); });
  };
  expect_rejected(enrol_with(worker_, {}, foreign), "TD_MRTD_MISMATCH");
}

TEST_F(Nodes, TdreportInsteadOfAQuote_IsRejected) {
  // A TDREPORT has 1024 bytes and begins with its type, 0x81 (TDX module ABI, REPORTTYPE).
  const auto report = [](Enrolment& made) {
    made.evidence->quote.assign(1024, 0);
    made.evidence->quote[0] = 0x81;
  };
  expect_rejected(enrol_with(worker_, {}, report), "QUOTE_VERSION_UNSUPPORTED");
}

TEST_F(Nodes, PlatformThatIsOutOfDate_IsRejectedWithItsStatus) {
  const auto old = [this](Enrolment& made) {
    made.evidence = evidence_for(enrolment_report_data(made.nonce, made.public_key, made.request),
                                 [](tdx::SimulationSpec& spec) {
                                   for (Json& level : spec.tcb_info["tcbLevels"]) {
                                     level["tcbStatus"] = "OutOfDate";
                                   }
                                 });
  };
  expect_rejected(enrol_with(worker_, {}, old), "TCB_STATUS_NOT_ACCEPTED:OutOfDate");
}

TEST_F(Nodes, WithoutReferenceValues_IsRejectedUnlessWaived) {
  Appraisal appraisal = simulator_appraisal();
  appraisal.policy = Json::object();
  put_appraisal(appraisal);
  expect_rejected(enrol_with(worker_, {}), "REFERENCE_VALUES_MISSING");
  appraisal.dangerous_allow_missing_reference_values = true;
  put_appraisal(appraisal);
  EXPECT_TRUE(enrol_with(worker_, {}));
}

TEST_F(Nodes, WithoutCollateral_IsCollateralMissing) {
  expect_refused(
      enrol_with(worker_, {}, [](Enrolment& made) { made.evidence->collateral = Json(); }),
      ErrorCode::kCollateralMissing);
}

TEST_F(Nodes, WithoutEvidence_IsRefusedUnlessAllowed) {
  const auto bare = [](Enrolment& made) { made.evidence.reset(); };
  const auto nowhere = [](Enrolment& made) { made.request.platform.clear(); };
  expect_refused(enrol_with(worker_, nowhere, bare), ErrorCode::kEvidenceMissing);
  services_->nodes.dangerous_allow_unmeasured = true;
  expect_refused(enrol_with(worker_, {}, bare), ErrorCode::kEnrolmentMismatch);
  const auto enrolled = enrol_with(worker_, nowhere, bare);
  ASSERT_TRUE(enrolled) << to_string(enrolled.error());
  EXPECT_FALSE(enrolled->node.measured);
  EXPECT_EQ(enrolled_view(*enrolled)["worker_measured"], false);
}

TEST_F(Nodes, KeyOfAnotherNode_IsKeyNotUnique) {
  enrol_ok(worker_);
  Worker thief{other_.node, other_.principal, nullptr};
  const auto bytes = [&] {
    const Challenge asked = challenge(thief);
    Worker signer{other_.node, other_.principal, nullptr};
    signer.key = std::move(worker_.key);
    Bytes made = signed_enrolment(enrolment(signer, asked.nonce), *signer.key);
    worker_.key = std::move(signer.key);
    return made;
  };
  expect_refused(enrol(*services_, bytes(), other_.principal), ErrorCode::kKeyNotUnique,
                 other_.node);
  // Also once the node has another key.
  Worker restarted = make_worker(worker_.node, worker_.principal.name);
  enrol_ok(restarted);
  expect_refused(enrol(*services_, bytes(), other_.principal), ErrorCode::kKeyNotUnique,
                 other_.node);
}

TEST_F(Nodes, KeyOfTheTrustStore_IsKeyNotUnique) {
  const auto bytes = signed_enrolment(
      enrolment(worker_, challenge(worker_).nonce,
                [&](Enrolment& made) { made.public_key = publisher_.signer->public_key(); }),
      *publisher_.signer);
  expect_refused(enrol(*services_, bytes, worker_.principal), ErrorCode::kKeyNotUnique);
}

TEST_F(Nodes, WorkerKey_NeverBecomesATrustedKey) {
  enrol_ok(worker_);
  TestKey key = make_key(KeyPurpose::kPublisher, "release", {publisher_role()});
  key.record.id = worker_.key->key_id();
  key.record.algorithm = worker_.key->algorithm();
  key.record.public_key = worker_.key->public_key();
  EXPECT_EQ(
      refusal(apply_trust_change(
          *services_, trust_change(2, {AddKey{key.record}}, {&operator1_, &operator2_}), actor_)),
      ErrorCode::kKeyNotUnique);
}

TEST_F(Nodes, NodeOfAnotherPrincipal_WithoutRegistration_IsNodeTaken) {
  services_->nodes.dangerous_allow_unregistered = true;
  ASSERT_TRUE(change_trust({RemoveRegistration{"gpu-1"}}));
  enrol_ok(worker_);
  remember();
  Worker intruder = make_worker(worker_.node, "intruder");
  expect_refused(enrol(*services_, good_enrolment(intruder), intruder.principal),
                 ErrorCode::kNodeTaken);
}

TEST_F(Nodes, RevokedNode_StaysRevoked) {
  enrol_ok(worker_);
  const Bytes before = good_enrolment(worker_);
  revoke(worker_.node);
  remember();
  expect_refused(enrol(*services_, before, worker_.principal), ErrorCode::kNodeRevoked);
  Worker restarted = make_worker(worker_.node, worker_.principal.name);
  expect_refused(enrol(*services_, good_enrolment(restarted), restarted.principal),
                 ErrorCode::kNodeRevoked);
  EXPECT_EQ((*node_row(worker_.node))["state"], "revoked");
}

TEST_F(Nodes, OtherPayloadType_IsUnknown) {
  EXPECT_EQ(refusal(enrol(*services_, signed_manifest(model_.manifest), worker_.principal)),
            ErrorCode::kPayloadTypeUnknown);
}

TEST_F(Nodes, OneNonceInManyHands_IsSpentOnce) {
  const Nonce nonce = challenge(worker_).nonce;
  std::vector<Bytes> envelopes;
  for (int i = 0; i < 6; ++i) {
    const auto own = [i](Enrolment& made) { made.devices.front().name = std::to_string(i); };
    envelopes.push_back(signed_enrolment(enrolment(worker_, nonce, own), *worker_.key));
  }
  std::vector<std::optional<ErrorCode>> codes(envelopes.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < envelopes.size(); ++i) {
    threads.emplace_back(
        [&, i] { codes[i] = refusal(enrol(*services_, envelopes[i], worker_.principal)); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(std::ranges::count(codes, std::optional<ErrorCode>()), 1);
  EXPECT_EQ(std::ranges::count(codes, std::optional(ErrorCode::kChallengeUsed)), 5);
}

TEST_F(Nodes, Counts_SayWhatHappened) {
  std::vector<std::string> counted;
  services_->count = [&](NodeEvent, std::string_view result) { counted.emplace_back(result); };
  enrol_ok(worker_);
  enrol_ok(worker_);
  ASSERT_FALSE(enrol_with(worker_, {}, [](Enrolment& made) { made.evidence->quote.resize(9); }));
  EXPECT_EQ(counted, (std::vector<std::string>{"accepted", "enrolled", "accepted", "renewed",
                                               "rejected", "refused"}));
}

// --- two workers under one name

TEST_F(Nodes, LiveWorkerThatLosesItsName_IsToldCountedAndLogged) {
  std::vector<std::string> counted;
  services_->count = [&](NodeEvent event, std::string_view result) {
    if (event == NodeEvent::kEnrolment) {
      counted.emplace_back(result);
    }
  };
  enrol_ok(worker_);
  EXPECT_TRUE(node_row("gpu-1")->at("superseded").is_null());
  const std::string first = worker_.key->key_id().text();
  clock_.advance(std::chrono::hours(1));
  ASSERT_TRUE(lease_job(*services_, "gpu-1", worker_.principal, {})) << "it is alive";
  clock_.advance(std::chrono::minutes(1));
  const Worker second = make_worker("gpu-1", worker_.principal.name);
  const auto taken = enrol(*services_, good_enrolment(second), second.principal);
  ASSERT_TRUE(taken) << to_string(taken.error());
  const Json told = enrolled_view(*taken)["superseded"];
  ASSERT_TRUE(told.is_object()) << enrolled_view(*taken).dump();
  EXPECT_EQ(told["key_id"], first);
  EXPECT_EQ(told["count"], 1);
  // With the collateral of an hour later, the evidence and the enrolment.
  EXPECT_EQ(std::ranges::count(newest_records(4), "node.superseded"), 1);
  // And back again.
  const auto back = enrol(*services_, good_enrolment(worker_), worker_.principal);
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(enrolled_view(*back)["superseded"]["key_id"], second.key->key_id().text());
  EXPECT_EQ(node_row("gpu-1")->at("superseded")["count"], 2);
  EXPECT_EQ(counted, (std::vector<std::string>{"enrolled", "superseded", "superseded"}));
}

TEST_F(Nodes, WorkerThatWasSilent_IsReplacedQuietly) {
  enrol_ok(worker_);
  clock_.advance(std::chrono::minutes(3));
  const Worker second = make_worker("gpu-1", worker_.principal.name);
  const auto taken = enrol(*services_, good_enrolment(second), second.principal);
  ASSERT_TRUE(taken) << to_string(taken.error());
  EXPECT_TRUE(enrolled_view(*taken)["superseded"].is_null());
  EXPECT_TRUE(node_row("gpu-1")->at("superseded").is_null());
}

TEST_F(Nodes, Renewal_SupersedesNobody) {
  enrol_ok(worker_);
  const auto again = enrol(*services_, good_enrolment(worker_), worker_.principal);
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_TRUE(enrolled_view(*again)["superseded"].is_null());
}

}  // namespace
}  // namespace assay::server::test
