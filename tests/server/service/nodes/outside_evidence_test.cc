// SPDX-License-Identifier: Apache-2.0
// Nodes whose evidence is the result of another verifier, and what is kept of event logs.
#include <string>

#include <gtest/gtest.h>

#include "attestation/outside_verifier.h"
#include "schemas/core/sha.h"
#include "server/service/nodes/reappraise.h"
#include "tests/attestation/tokens.h"
#include "tests/server/service/node_fixture.h"
#include "tests/support/vectors.h"

namespace assay::server::test {
namespace {

using assay::test::jwk_of;
using assay::test::token_of;

class OutsideEvidenceTest : public NodeTest {
 protected:
  [[nodiscard]] Appraisal appraisal() const {
    Appraisal made;
    made.evidence_type = "ear";
    made.policy = {{"issuer", "https://verifier.example"},
                   {"profile", "tag:ietf.org,2026:rats/ear#04"},
                   {"algorithm", "ES256"},
                   {"jwks", {{"keys", {jwk_of(*verifier_)}}}},
                   {"submods", {"cpu"}},
                   {"report_data", "/submods/cpu/ear_attester_claims/report_data"}};
    return made;
  }

  // The other verifier's result about what the enrolment asks for, as of now.
  [[nodiscard]] Evidence result_for(const Enrolment& enrolment, const Nonce& nonce) const {
    const ReportDataBytes data =
        enrolment_report_data(enrolment.nonce, enrolment.public_key, enrolment.request);
    const Json claims = {
        {"eat_profile", "tag:ietf.org,2026:rats/ear#04"},
        {"iss", "https://verifier.example"},
        {"iat", std::chrono::floor<std::chrono::seconds>(clock_.now()).time_since_epoch().count()},
        {"eat_nonce", hex_encode(nonce)},
        {"ear_status", "affirming"},
        {"submods",
         {{"cpu",
           {{"ear_status", "affirming"},
            {"ear_trustworthiness_vector", {{"executables", 3}, {"hardware", 2}}},
            {"ear_attester_claims",
             {{"report_data", hex_encode(data)}, {"machine", machine_}}}}}}}};
    const std::string request = canonical_json(to_json(enrolment.request)).value();
    const attestation::EarEvidence presented{token_of({{"alg", "ES256"}}, claims, *verifier_),
                                             sha256(enrolment.public_key),
                                             sha256(as_bytes(request))};
    Evidence evidence;
    evidence.type = "ear";
    evidence.quote = to_bytes(to_json(presented).dump());
    return evidence;
  }

  static void without_platform(Enrolment& enrolment) { enrolment.request.platform.clear(); }
  Result<Enrolled> enrol_with_result(const Worker& worker) {
    return enrol_with(worker, without_platform, [this](Enrolment& enrolment) {
      enrolment.evidence = result_for(enrolment, enrolment.nonce);
    });
  }

  std::string machine_ = "00aa";  // of which results speak
  std::unique_ptr<Signer> verifier_ =
      attestation::generate_key(SignatureAlgorithm::kEcdsaP256).value();
};

TEST_F(OutsideEvidenceTest, ResultForOurChallenge_Enrols_UnderTheKeySet) {
  put_appraisal(appraisal());
  const auto enrolled = enrol_with_result(worker_);
  ASSERT_TRUE(enrolled) << to_string(enrolled.error());
  const auto row = store_->snapshot().value()->evidence("node:gpu-1").value();
  EXPECT_EQ(row.type, "ear");
  EXPECT_FALSE(row.anchor_is_vendor);
  ASSERT_TRUE(row.anchor);
  EXPECT_TRUE(row.anchor->text().starts_with("jwks:"));
  // It lasts as long as the result does.
  EXPECT_LE(enrolled->node.expires_at, clock_.now() + std::chrono::seconds(300));
}

TEST_F(OutsideEvidenceTest, WithoutAnAppraisal_NothingEnrols) {
  const auto enrolled = enrol_with_result(worker_);
  ASSERT_FALSE(enrolled);
  EXPECT_EQ(enrolled.error().code, ErrorCode::kEvidenceTypeUnknown);
  EXPECT_FALSE(node_row("gpu-1"));
}

TEST_F(OutsideEvidenceTest, ResultForAnotherChallenge_IsRejected) {
  put_appraisal(appraisal());
  const auto enrolled = enrol_with(worker_, without_platform, [this](Enrolment& enrolment) {
    Nonce other = enrolment.nonce;
    other[0] ^= 1;
    enrolment.evidence = result_for(enrolment, other);
  });
  ASSERT_FALSE(enrolled);
  EXPECT_EQ(enrolled.error().code, ErrorCode::kEvidenceRejected);
  EXPECT_TRUE(enrolled.error().detail.starts_with("EAR_NONCE_MISMATCH"));
}

// Somebody else's result does not become one's own by naming his key and request.
TEST_F(OutsideEvidenceTest, ResultOfAnotherNode_IsRejected) {
  put_appraisal(appraisal());
  std::optional<Evidence> stolen;
  ASSERT_TRUE(enrol_with(worker_, without_platform, [&](Enrolment& enrolment) {
    enrolment.evidence = result_for(enrolment, enrolment.nonce);
    stolen = enrolment.evidence;
  }));
  const auto enrolled = enrol_with(other_, without_platform,
                                   [&](Enrolment& enrolment) { enrolment.evidence = stolen; });
  ASSERT_FALSE(enrolled);
  EXPECT_EQ(enrolled.error().code, ErrorCode::kEvidenceRejected);
}

TEST_F(OutsideEvidenceTest, OtherKeys_EndWhatTheOldOnesGave) {
  put_appraisal(appraisal());
  ASSERT_TRUE(enrol_with_result(worker_));
  verifier_ = attestation::generate_key(SignatureAlgorithm::kEcdsaP256).value();
  put_appraisal(appraisal());
  ASSERT_TRUE(reappraise(*services_, 16));
  const auto row = store_->snapshot().value()->evidence("node:gpu-1").value();
  EXPECT_EQ(row.error, "EAR_SIGNATURE");
}

// A verifier elsewhere that names the machine of a node with evidence of its own.
TEST_F(OutsideEvidenceTest, MachineOfAResult_IsNoMachineOfOtherEvidence) {
  enrol_ok(other_);
  machine_ = platform_id("gpu-2");
  Appraisal with_platform = appraisal();
  with_platform.policy["platform"] = "/submods/cpu/ear_attester_claims/machine";
  put_appraisal(with_platform);
  const auto enrol_as = [&](const std::string& platform) {
    return enrol_with(
        worker_, [&](Enrolment& enrolment) { enrolment.request.platform = platform; },
        [&](Enrolment& enrolment) { enrolment.evidence = result_for(enrolment, enrolment.nonce); });
  };
  EXPECT_EQ(assay::test::code_of(enrol_as(machine_)), "enrolment-mismatch");
  const std::string own = plugin_platform("ear", hex_decode(machine_).value());
  EXPECT_EQ(assay::test::code_of(enrol_as(own)), "ok");
  EXPECT_FALSE(store_->snapshot().value()->node("gpu-2").value().ended);
}

// What was accepted for an hour is not accepted for an hour any more.
TEST_F(OutsideEvidenceTest, ShorterAge_EndsEnrolmentsSooner) {
  put_appraisal(appraisal());
  const Timestamp issued = clock_.now();
  ASSERT_TRUE(enrol_with_result(worker_));
  clock_.advance(std::chrono::seconds(10));
  Appraisal shorter = appraisal();
  shorter.policy["max_age_seconds"] = 60;
  put_appraisal(shorter);
  ASSERT_TRUE(reappraise(*services_, 16));
  EXPECT_EQ(store_->snapshot().value()->evidence("node:gpu-1").value().error, "");
  const Timestamp end = store_->snapshot().value()->node("gpu-1").value().expires_at;
  EXPECT_LE(end, issued + std::chrono::seconds(60));
  // Longer ages give back nothing.
  put_appraisal(appraisal());
  ASSERT_TRUE(reappraise(*services_, 16));
  EXPECT_EQ(store_->snapshot().value()->node("gpu-1").value().expires_at, end);
}

// --- verifiers that cannot decide now

constexpr std::string_view kBusyType = "sometimes-busy";

// Accepts everything, or is busy.
class SometimesBusy final : public attestation::EvidenceVerifier {
 public:
  explicit SometimesBusy(const bool& busy) : busy_(busy) {}
  [[nodiscard]] std::string_view type() const override { return kBusyType; }
  [[nodiscard]] std::string_view media_type() const override { return "application/vnd.busy"; }
  [[nodiscard]] Result<attestation::AppraisedEvidence> appraise(const Evidence&, const Appraisal&,
                                                                attestation::Purpose,
                                                                const ReportDataBytes&,
                                                                Timestamp) const override {
    if (busy_) {
      return fail(ErrorCode::kUnavailable, "busy");
    }
    attestation::AppraisedEvidence appraised;
    appraised.type = kBusyType;
    appraised.accepted = true;
    appraised.anchor = Anchor::plugin(sha256(as_bytes(kBusyType)));
    appraised.result = Json::object();
    return appraised;
  }
  [[nodiscard]] Status check(const Appraisal&) const override { return {}; }

 private:
  const bool& busy_;
};

class BusyVerifierTest : public OutsideEvidenceTest {
 protected:
  BusyVerifierTest() {
    EXPECT_TRUE(registry_.add(std::make_unique<SometimesBusy>(busy_)));
    services_ = std::unique_ptr<Services>(new Services{.store = *store_,
                                                       .service_signer = *service_key_,
                                                       .clock = clock_,
                                                       .random = random_,
                                                       .log_origin = "example.com/log",
                                                       .verifiers = registry_});
  }
  void put_policy(int number) {
    Appraisal appraisal;
    appraisal.evidence_type = kBusyType;
    appraisal.policy = {{"number", number}};
    put_appraisal(appraisal);
  }
  Standing standing_of_node(const std::string& node) {
    const auto snapshot = store_->snapshot().value();
    return standing(*snapshot, "node:" + node).value().value();
  }

  bool busy_ = false;
  attestation::VerifierRegistry registry_;
};

// Nobody who keeps a plug-in busy has the evidence of others refused.
TEST_F(BusyVerifierTest, Evidence_StaysStale_UntilItsVerifierHasTime) {
  put_policy(1);
  ASSERT_TRUE(enrol_with(worker_, without_platform, [](Enrolment& enrolment) {
    enrolment.evidence = Evidence{};
    enrolment.evidence->type = kBusyType;
    enrolment.evidence->quote = to_bytes("x");
  }));
  enrol_ok(other_);
  put_policy(2);
  Appraisal other = simulator_appraisal();
  other.policy["reference_values"]["mrtd"] = {std::string(96, '0')};
  put_appraisal(other);
  busy_ = true;
  EXPECT_EQ(assay::test::code_of(reappraise(*services_, 16)), "unavailable");
  EXPECT_FALSE(standing_of_node("gpu-1").current);
  EXPECT_EQ(standing_of_node("gpu-1").row.error, "");
  EXPECT_EQ(standing_of_node("gpu-2").row.error, "TD_MRTD_MISMATCH") << "not held up";
  busy_ = false;
  EXPECT_EQ(assay::test::code_of(reappraise(*services_, 16)), "ok");
  EXPECT_TRUE(standing_of_node("gpu-1").current);
  EXPECT_EQ(standing_of_node("gpu-1").row.error, "");
}

// --- event logs

TEST_F(OutsideEvidenceTest, EventLogOfANode_IsKept_AndGoesWithItsEvidence) {
  enrol_ok(worker_);
  const auto row = store_->snapshot().value()->evidence("node:gpu-1").value();
  ASSERT_TRUE(row.boot);
  EXPECT_EQ(row.boot->secure_boot, true);
  EXPECT_EQ(row.boot->rtmr1->size(), 2U);
  EXPECT_EQ(row.boot->rtmr2->size(), 2U);
  ASSERT_TRUE(
      enrol_with(worker_, {}, [](Enrolment& enrolment) { enrolment.evidence->event_log.clear(); }));
  EXPECT_FALSE(store_->snapshot().value()->evidence("node:gpu-1").value().boot);
}

// What is refused later says nothing any more.
TEST_F(OutsideEvidenceTest, EventLogOfRefusedEvidence_CountsNoMore) {
  enrol_ok(worker_);
  Appraisal other = simulator_appraisal();
  other.policy["reference_values"]["mrtd"] = {std::string(96, '0')};
  put_appraisal(other);
  ASSERT_TRUE(reappraise(*services_, 16));
  const auto row = store_->snapshot().value()->evidence("node:gpu-1").value();
  EXPECT_EQ(row.error, "TD_MRTD_MISMATCH");
  EXPECT_FALSE(row.boot);
}

}  // namespace
}  // namespace assay::server::test
