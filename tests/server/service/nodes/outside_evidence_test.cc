// SPDX-License-Identifier: Apache-2.0
// Nodes whose evidence is the result of another verifier, and what is kept of event logs.
#include <string>

#include <gtest/gtest.h>

#include "attestation/outside_verifier.h"
#include "schemas/core/sha.h"
#include "server/service/nodes/reappraise.h"
#include "tests/attestation/tokens.h"
#include "tests/server/service/node_fixture.h"

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
            {"ear_attester_claims", {{"report_data", hex_encode(data)}}}}}}}};
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
