// SPDX-License-Identifier: Apache-2.0
// Results of outside verifiers as evidence of type "ear": under which appraisal they count, and as
// what. What a token must say: outside_ear_test.cc.
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "attestation/outside_verifier.h"
#include "attestation/verifier_registry.h"
#include "schemas/core/sha.h"
#include "schemas/evidence.h"
#include "schemas/report_data.h"
#include "tests/attestation/support.h"
#include "tests/attestation/tokens.h"

namespace assay::attestation {
namespace {

using test::at;
using test::signer;

const Signer& key() { return signer(SignatureAlgorithm::kEcdsaP256); }
Digest worker() { return sha256(as_bytes("worker")); }
Digest request() { return sha256(as_bytes("request")); }
Nonce nonce() {
  Nonce made{};
  made.fill(3);
  return made;
}
ReportDataBytes expected() {
  return report_data_of(kChallengeDomains[0], {nonce(), worker(), request()});
}

Appraisal appraisal() {
  Appraisal made;
  made.evidence_type = "ear";
  made.policy = {{"issuer", "v"},
                 {"profile", "tag:ietf.org,2026:rats/ear#04"},
                 {"algorithm", "ES256"},
                 {"jwks", {{"keys", {test::jwk_of(key())}}}},
                 {"submods", {"cpu"}},
                 {"report_data", "/submods/cpu/ear_attester_claims/report_data"},
                 {"platform", "/submods/cpu/ear_attester_claims/platform"}};
  return made;
}

Json claims() {
  return {{"eat_profile", "tag:ietf.org,2026:rats/ear#04"},
          {"iss", "v"},
          {"iat", 1'772'366'400},
          {"eat_nonce", hex_encode(nonce())},
          {"ear_status", "affirming"},
          {"submods",
           {{"cpu",
             {{"ear_status", "affirming"},
              {"ear_trustworthiness_vector", {{"executables", 3}, {"hardware", 2}}},
              {"ear_attester_claims",
               {{"report_data", hex_encode(expected())}, {"platform", "00ff"}}}}}}}};
}

Evidence evidence(const std::function<void(Json&)>& change = {}) {
  Json said = claims();
  if (change) {
    change(said);
  }
  const EarEvidence presented{test::token_of({{"alg", "ES256"}}, said, key()), worker(), request()};
  Evidence made;
  made.type = "ear";
  made.quote = to_bytes(to_json(presented).dump());
  return made;
}

Result<AppraisedEvidence> appraise(const Evidence& evidence, const Appraisal& under,
                                   Purpose purpose = Purpose::kEnrol) {
  return built_in_verifiers().appraise(evidence, under, purpose, expected(),
                                       at("2026-03-01T12:00:00Z"));
}

TEST(EarEvidenceType, Accepted_StandsOnTheKeySetAndNoVendor) {
  const AppraisedEvidence appraised = appraise(evidence(), appraisal()).value();
  EXPECT_TRUE(appraised.accepted) << appraised.result.dump();
  const std::string keys = canonical_json(appraisal().policy["jwks"]).value();
  EXPECT_EQ(appraised.anchor, Anchor::key_set(sha256(as_bytes(keys))));
  EXPECT_FALSE(appraised.anchor_is_vendor);
  EXPECT_EQ(appraised.tcb_status, "affirming");
  EXPECT_EQ(appraised.platform, plugin_platform("ear", Bytes{0x00, 0xff}));
  EXPECT_TRUE(appraised.has_reference_values);
  EXPECT_EQ(appraised.trustworthiness, (Trustworthiness{0, 0, 3, 2, 0}));
  EXPECT_EQ(appraised.valid_until, at("2026-03-01T12:05:00Z"));
  EXPECT_FALSE(appraised.boot);
}

TEST(EarEvidenceType, NothingConfigured_IsAnError) {
  const auto appraised = appraise(evidence(), default_appraisal("ear"));
  ASSERT_FALSE(appraised);
  EXPECT_EQ(appraised.error().code, ErrorCode::kEvidenceTypeUnknown);
}

TEST(EarEvidenceType, VerifierThatComparedNothing_IsNotEnough) {
  const Evidence silent = evidence(
      [](Json& c) { c["submods"]["cpu"]["ear_trustworthiness_vector"].erase("executables"); });
  EXPECT_EQ(appraise(silent, appraisal())->error, "REFERENCE_VALUES_MISSING");
  // What one of several submodules does not say is not said of the whole.
  const Evidence half = evidence([](Json& c) {
    c["submods"]["gpu"] = {{"ear_status", "affirming"},
                           {"ear_trustworthiness_vector", {{"hardware", 2}}}};
  });
  EXPECT_EQ(appraise(half, appraisal())->error, "REFERENCE_VALUES_MISSING");
  Appraisal waived = appraisal();
  waived.dangerous_allow_missing_reference_values = true;
  EXPECT_TRUE(appraise(silent, waived)->accepted);
  EXPECT_FALSE(appraise(silent, waived)->has_reference_values);
  EXPECT_TRUE(appraise(silent, appraisal(), Purpose::kInspect)->accepted);
}

TEST(EarEvidenceType, RefusedToken_IsAResult) {
  const auto refused = appraise(evidence([](Json& c) { c["iss"] = "w"; }), appraisal());
  ASSERT_TRUE(refused);
  EXPECT_FALSE(refused->accepted);
  EXPECT_EQ(refused->error, "EAR_ISSUER");
  EXPECT_EQ(refused->result["verdict"], "rejected");
}

TEST(EarEvidenceType, OtherShapes_AreRefused) {
  Evidence wrong = evidence();
  wrong.quote = to_bytes("eyJh.e30.AA");
  EXPECT_EQ(appraise(wrong, appraisal())->error, "EAR_FORMAT");
  wrong = evidence();
  wrong.quote.clear();
  EXPECT_EQ(appraise(wrong, appraisal())->error, "EAR_FORMAT");
  wrong = evidence();
  wrong.event_log = to_bytes("log");
  EXPECT_EQ(appraise(wrong, appraisal())->error, "EAR_FORMAT");
  wrong = evidence();
  wrong.collateral = Json::object();
  EXPECT_EQ(appraise(wrong, appraisal())->error, "EAR_FORMAT");
}

TEST(EarEvidenceType, Appraisal_IsChecked) {
  const auto code = [](const std::function<void(Appraisal&)>& change) {
    Appraisal changed = appraisal();
    change(changed);
    const Status status = built_in_verifiers().check(changed);
    return status ? "" : status.error().where;
  };
  EXPECT_EQ(code([](Appraisal&) {}), "");
  EXPECT_EQ(code([](Appraisal& a) { a.policy = Json::object(); }), "/policy/issuer");
  EXPECT_EQ(code([](Appraisal& a) { a.dangerous_anchors = {to_bytes("x")}; }),
            "/dangerous_anchors/0");
  EXPECT_EQ(code([](Appraisal& a) { a.stage = "train"; }), "/stage");
}

}  // namespace
}  // namespace assay::attestation
