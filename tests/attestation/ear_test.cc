// SPDX-License-Identifier: Apache-2.0
// Attestation results: the shape of a token, and one change at a time that must not verify.
#include "attestation/ear.h"

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "attestation/jws.h"
#include "tests/attestation/evidence.h"
#include "tests/attestation/support.h"

namespace assay::attestation {
namespace {

using test::at;
using test::signer;

constexpr const char* kNow = "2026-03-01T12:00:00Z";
constexpr const char* kIssuer = "assay.example/log";

const Signer& key() { return signer(SignatureAlgorithm::kEcdsaP256); }
PublicKey public_key(const Signer& of = key()) {
  return PublicKey::from_der(of.public_key()).value();
}

EarContext context() {
  return {kIssuer,      "assay 0.1.0", std::string(64, '7'),     "node-1",
          "sha256:abc", at(kNow),      std::chrono::seconds(300)};
}

// Evidence of which everything is known to be good.
AppraisedEvidence affirming() {
  AppraisedEvidence evidence;
  evidence.type = "tdx";
  evidence.accepted = true;
  evidence.trustworthiness = {2, 2, 3, 2, 2};
  evidence.result = {{"verdict", "accepted"}, {"measurements", {{"mrtd", "aa"}}}};
  return evidence;
}

std::string token() { return make_ear(affirming(), context(), key()).value(); }
Json claims_of(const std::string& text) { return verify_jws(text, public_key()).value(); }

std::string code_of(const Result<EarClaims>& result) {
  return result ? "OK:" + result->status : std::string(info(result.error().code).code);
}
std::string verify(const std::string& text, const char* now = kNow) {
  return code_of(verify_ear(text, public_key(), kIssuer, at(now)));
}

// The valid claims after one change, signed by the right key.
std::string verify_changed(const std::function<void(Json&)>& change) {
  Json claims = claims_of(token());
  change(claims);
  return verify(sign_jws(claims, key()).value());
}

TEST(Ear, Claims_HaveTheNamesOfTheDraft) {
  const Json claims = claims_of(token());
  EXPECT_EQ(
      claims,
      Json({{"eat_profile", "tag:ietf.org,2026:rats/ear#04"},
            {"iss", kIssuer},
            {"sub", "node-1"},
            {"iat", 1772366400},
            {"exp", 1772366700},
            {"eat_nonce", std::string(64, '7')},
            {"ear_verifier_id", {{"developer", "https://assay.dev"}, {"build", "assay 0.1.0"}}},
            {"ear_status", "affirming"},
            {"submods",
             {{"tdx",
               {{"ear_status", "affirming"},
                {"ear_trustworthiness_vector",
                 {{"instance-identity", 2},
                  {"configuration", 2},
                  {"executables", 3},
                  {"hardware", 2},
                  {"runtime-opaque", 2}}},
                {"ear_appraisal_policy_ids", Json::array({"sha256:abc"})},
                {"ear_attester_claims", {{"mrtd", "aa"}}},
                {"ear_verifier_claims", {{"verdict", "accepted"}}}}}}}}));
}

TEST(Ear, Token_IsCompactJwsWithARawSignature) {
  const std::string text = token();
  const std::size_t first = text.find('.');
  const std::size_t last = text.rfind('.');
  EXPECT_EQ(text.substr(0, first),
            base64url_encode(as_bytes(R"({"alg":"ES256","kid":")" + key().key_id().text() +
                                      R"(","typ":"JWT"})")));
  // 64 bytes are 86 characters without padding.
  EXPECT_EQ(text.size() - last - 1, 86U);
  EXPECT_EQ(verify(text), "OK:affirming");
}

// r and s with leading zeros keep their 32 bytes each: one in 128 signatures has such a one.
TEST(Ear, Signatures_AlwaysHaveTheirLength) {
  for (int i = 0; i < 400; ++i) {
    const std::string text = sign_jws({{"i", i}}, key()).value();
    ASSERT_EQ(text.size() - text.rfind('.') - 1, 86U);
    ASSERT_TRUE(verify_jws(text, public_key()));
  }
}

TEST(Ear, Status_IsThatOfTheWorstAspect) {
  AppraisedEvidence evidence = affirming();
  evidence.trustworthiness.executables = 33;
  EXPECT_EQ(verify(make_ear(evidence, context(), key()).value()), "OK:warning");
  evidence.trustworthiness.hardware = 97;
  EXPECT_EQ(verify(make_ear(evidence, context(), key()).value()), "OK:contraindicated");
}

TEST(Ear, AspectWithoutClaim_IsLeftOut) {
  AppraisedEvidence evidence = affirming();
  evidence.trustworthiness.instance_identity = 0;
  const std::string text = make_ear(evidence, context(), key()).value();
  const Json claims = claims_of(text);
  EXPECT_FALSE(
      claims["submods"]["tdx"]["ear_trustworthiness_vector"].contains("instance-identity"));
  EXPECT_EQ(verify(text), "OK:affirming");
}

TEST(Ear, RefusedEvidence_IsContraindicatedWhateverItsAspects) {
  AppraisedEvidence evidence = affirming();
  evidence.accepted = false;
  EXPECT_EQ(verify(make_ear(evidence, context(), key()).value()), "OK:contraindicated");
}

// A verifier that gives no details, or details of another shape, still has a result.
TEST(Ear, WithoutDetails_IsMadeAllTheSame) {
  for (const Json& result : {Json(), Json("text"), Json::array({1})}) {
    AppraisedEvidence evidence = affirming();
    evidence.result = result;
    const std::string text = make_ear(evidence, context(), key()).value();
    EXPECT_EQ(verify(text), "OK:affirming") << result;
    EXPECT_EQ(claims_of(text)["submods"]["tdx"]["ear_verifier_claims"], Json::object()) << result;
  }
  AppraisedEvidence evidence = affirming();
  evidence.result["platform"] = "of the verifier's own shape";
  const Json claims = claims_of(make_ear(evidence, context(), key()).value());
  EXPECT_EQ(claims["submods"]["tdx"]["ear_verifier_claims"]["platform"],
            evidence.result["platform"]);
}

TEST(Ear, PartsOfRefusedEvidence_AreContraindicated) {
  AppraisedEvidence evidence = affirming();
  evidence.parts = {{"gpu-0", {2, 2, 2, 2, 2}, Json::object()}};
  EXPECT_EQ(
      claims_of(make_ear(evidence, context(), key()).value())["submods"]["tdx.gpu-0"]["ear_status"],
      "affirming");
  evidence.accepted = false;
  const std::string text = make_ear(evidence, context(), key()).value();
  EXPECT_EQ(verify(text), "OK:contraindicated");
  EXPECT_EQ(claims_of(text)["submods"]["tdx.gpu-0"]["ear_status"], "contraindicated");
}

TEST(Ear, OfSimulatedEvidence_WarnsAndNamesNoMachine) {
  const auto appraised =
      test::appraise_now(test::valid_evidence(), test::valid_appraisal()).value();
  const std::string text = make_ear(appraised, context(), key()).value();
  EXPECT_EQ(verify(text), "OK:warning");
  const Json claims = claims_of(text);
  const Json& submodule = claims["submods"]["tdx"];
  EXPECT_EQ(submodule["ear_attester_claims"]["mrtd"],
            hex_encode(test::evidence_spec().quote.report.mrtd));
  EXPECT_EQ(submodule["ear_verifier_claims"]["tcb"]["status"], "UpToDate");
  EXPECT_EQ(submodule["ear_verifier_claims"]["anchor"], appraised.anchor->text());
  EXPECT_FALSE(submodule["ear_verifier_claims"].contains("checks"));
  EXPECT_EQ(claims.dump().find(appraised.platform), std::string::npos);
}

TEST(Ear, OfRefusedSimulatedEvidence_SaysWhy) {
  auto spec = test::evidence_spec();
  spec.quote.report.report_data[0] ^= 1;
  const auto appraised =
      test::appraise_now(test::evidence_of(spec), test::valid_appraisal()).value();
  const std::string text = make_ear(appraised, context(), key()).value();
  EXPECT_EQ(verify(text), "OK:contraindicated");
  EXPECT_EQ(claims_of(text)["submods"]["tdx"]["ear_verifier_claims"]["error"],
            "REPORT_DATA_MISMATCH");
}

TEST(Ear, MadeUnderOtherTerms_IsRefused) {
  EXPECT_EQ(make_ear(affirming(), context(), signer(SignatureAlgorithm::kEd25519)).error().code,
            ErrorCode::kUnsupportedKey);
  EXPECT_EQ(make_ear(affirming(), context(), signer(SignatureAlgorithm::kEcdsaP384)).error().code,
            ErrorCode::kUnsupportedKey);
  for (const int seconds : {0, -1, 3601}) {
    EarContext changed = context();
    changed.lifetime = std::chrono::seconds(seconds);
    EXPECT_EQ(make_ear(affirming(), changed, key()).error().code, ErrorCode::kInvalidParameter);
  }
}

TEST(Ear, OptionalClaims_AreLeftOutWhenEmpty) {
  EarContext bare = context();
  bare.nonce = bare.node = bare.policy = "";
  const Json claims = claims_of(make_ear(affirming(), bare, key()).value());
  EXPECT_FALSE(claims.contains("eat_nonce"));
  EXPECT_FALSE(claims.contains("sub"));
  EXPECT_EQ(claims["submods"]["tdx"]["ear_appraisal_policy_ids"], Json::array());
}

// --- who signed it

std::string with_header(const std::string& header) {
  const std::string text = token();
  return base64url_encode(as_bytes(header)) + text.substr(text.find('.'));
}

TEST(EarSignature, ByAnotherKey_IsInvalid) {
  const Signer& other = signer(SignatureAlgorithm::kEcdsaP256, 1);
  EXPECT_EQ(verify(make_ear(affirming(), context(), other).value()), "signature-invalid");
  EXPECT_EQ(code_of(verify_ear(token(), public_key(signer(SignatureAlgorithm::kEd25519)), kIssuer,
                               at(kNow))),
            "signature-invalid");
}

TEST(EarSignature, HeaderDecidesNothing) {
  const std::string kid = key().key_id().text();
  const std::string other = signer(SignatureAlgorithm::kEcdsaP256, 1).key_id().text();
  for (const std::string& header :
       {R"({"alg":"none","kid":")" + kid + R"(","typ":"JWT"})",
        R"({"alg":"HS256","kid":")" + kid + R"(","typ":"JWT"})",
        R"({"alg":"ES384","kid":")" + kid + R"(","typ":"JWT"})",
        R"({"alg":"ES256","kid":")" + other + R"(","typ":"JWT"})",
        R"({"alg":"ES256","crit":["b64"],"b64":false,"kid":")" + kid + R"(","typ":"JWT"})",
        std::string(R"({"alg":"ES256"})")}) {
    EXPECT_EQ(verify(with_header(header)), "signature-invalid") << header;
  }
}

// The header that is the same JSON in other bytes is not what was signed.
TEST(EarSignature, CoversTheBytesOfTheHeader) {
  EXPECT_EQ(verify(with_header(R"({"alg": "ES256","kid":")" + key().key_id().text() +
                               R"(","typ":"JWT"})")),
            "signature-invalid");
}

TEST(EarSignature, AlgorithmNoneWithoutSignature_IsInvalid) {
  const std::string text = with_header(R"({"alg":"none","typ":"JWT"})");
  EXPECT_EQ(verify(text.substr(0, text.rfind('.') + 1)), "signature-invalid");
  EXPECT_EQ(verify(token().substr(0, token().rfind('.') + 1)), "signature-invalid");
}

TEST(EarSignature, OverOtherClaims_IsInvalid) {
  Json claims = claims_of(token());
  claims["sub"] = "node-2";
  const std::string text = token();
  EXPECT_EQ(verify(text.substr(0, text.find('.') + 1) +
                   base64url_encode(as_bytes(canonical_json(claims).value())) +
                   text.substr(text.rfind('.'))),
            "signature-invalid");
}

TEST(EarSignature, InDer_IsInvalid) {
  const std::string text = token();
  const std::string signed_part = text.substr(0, text.rfind('.'));
  const Bytes der = key().sign(as_bytes(signed_part)).value();
  EXPECT_EQ(verify(signed_part + "." + base64url_encode(der)), "signature-invalid");
}

TEST(EarSignature, OfZeros_IsInvalid) {
  const std::string text = token();
  EXPECT_EQ(verify(text.substr(0, text.rfind('.') + 1) + base64url_encode(Bytes(64))),
            "signature-invalid");
}

TEST(EarToken, OfAnotherForm_IsNoToken) {
  const std::string text = token();
  EXPECT_EQ(verify(""), "schema-violation");
  EXPECT_EQ(verify("a.b"), "schema-violation");
  EXPECT_EQ(verify(text + "."), "schema-violation");
  EXPECT_EQ(verify(text + "="), "schema-violation");
  EXPECT_EQ(verify(text + "\n"), "schema-violation");
  EXPECT_EQ(verify("." + text.substr(text.find('.') + 1)), "schema-violation");
  EXPECT_EQ(verify(text.substr(0, 10) + "+" + text.substr(11)), "schema-violation");
  EXPECT_EQ(verify(text + std::string(kMaxTokenBytes, 'A')), "schema-violation");
  EXPECT_EQ(verify(sign_jws(Json::array(), key()).value()), "schema-violation");
}

TEST(EarToken, TooLong_IsNotMade) {
  AppraisedEvidence evidence = affirming();
  evidence.result["note"] = std::string(kMaxTokenBytes, 'x');
  EXPECT_EQ(make_ear(evidence, context(), key()).error().code, ErrorCode::kLimitExceeded);
}

// --- what it says

TEST(EarTime, IsWithinItsLifetime) {
  EXPECT_EQ(verify(token(), "2026-03-01T12:04:59Z"), "OK:affirming");
  EXPECT_EQ(verify(token(), "2026-03-01T12:05:00Z"), "evidence-rejected");
  EXPECT_EQ(verify(token(), "2026-03-01T11:59:00Z"), "OK:affirming");
  EXPECT_EQ(verify(token(), "2026-03-01T11:58:59Z"), "evidence-rejected");
}

TEST(EarTime, ThatCannotBe_IsRefused) {
  EXPECT_EQ(verify_changed([](Json& c) { c["exp"] = c["iat"].get<int>() + 3601; }),
            "evidence-rejected");
  EXPECT_EQ(verify_changed([](Json& c) { c["exp"] = c["iat"]; }), "evidence-rejected");
  EXPECT_EQ(verify_changed([](Json& c) { c["iat"] = -1; }), "evidence-rejected");
  EXPECT_EQ(verify_changed([](Json& c) { c.erase("exp"); }), "schema-violation");
  EXPECT_EQ(verify_changed([](Json& c) { c.erase("iat"); }), "schema-violation");
  EXPECT_EQ(verify_changed([](Json& c) { c["exp"] = "1772366700"; }), "schema-violation");
  EXPECT_EQ(verify_changed([](Json& c) { c["exp"] = 1772366700.5; }), "schema-violation");
}

TEST(EarOrigin, OfAnotherIssuerOrProfile_IsRefused) {
  EXPECT_EQ(code_of(verify_ear(token(), public_key(), "assay.example/other", at(kNow))),
            "evidence-rejected");
  EXPECT_EQ(verify_changed([](Json& c) { c.erase("iss"); }), "evidence-rejected");
  EXPECT_EQ(verify_changed([](Json& c) { c["iss"] = Json::array({kIssuer}); }),
            "evidence-rejected");
  EXPECT_EQ(verify_changed([](Json& c) { c["eat_profile"] = "tag:github.com,2023:veraison/ear"; }),
            "schema-violation");
  EXPECT_EQ(verify_changed([](Json& c) { c.erase("eat_profile"); }), "schema-violation");
}

TEST(EarStatus, BetterThanWhatItStandsFor_IsRefused) {
  EXPECT_EQ(verify_changed([](Json& c) { c["submods"]["tdx"]["ear_status"] = "warning"; }),
            "evidence-rejected");
  EXPECT_EQ(
      verify_changed([](Json& c) { c["submods"]["gpu"] = {{"ear_status", "contraindicated"}}; }),
      "evidence-rejected");
  EXPECT_EQ(verify_changed([](Json& c) { c["submods"]["gpu"] = {{"ear_status", "none"}}; }),
            "evidence-rejected");
  EXPECT_EQ(verify_changed([](Json& c) {
              c["submods"]["tdx"]["ear_trustworthiness_vector"]["hardware"] = 96;
            }),
            "evidence-rejected");
  EXPECT_EQ(verify_changed([](Json& c) {
              c["submods"]["tdx"]["ear_trustworthiness_vector"]["hardware"] = -97;
            }),
            "evidence-rejected");
}

// draft-ietf-rats-ar4si section 2.3.2.
TEST(EarStatus, Values_AreOfTheirTier) {
  const std::vector<std::pair<std::string, std::vector<int>>> tiers = {
      {"affirming", {2, 31, -2, -32}},
      {"none", {-1, 0, 1}},
      {"warning", {32, 95, -33, -96}},
      {"contraindicated", {96, 127, -97, -128}}};
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    for (const int value : tiers[i].second) {
      const auto verify_as = [&](const std::string& tier) {
        return verify_changed([&](Json& c) {
          c["submods"]["tdx"]["ear_trustworthiness_vector"]["hardware"] = value;
          c["submods"]["tdx"]["ear_status"] = tier;
          c["ear_status"] = tier;
        });
      };
      EXPECT_EQ(verify_as(tiers[i].first), "OK:" + tiers[i].first) << value;
      if (tiers[i].first == "none") {  // claims nothing, beside aspects that affirm
        EXPECT_EQ(verify_as("affirming"), "OK:affirming") << value;
      } else if (i > 0) {
        EXPECT_EQ(verify_as(tiers[i - 1].first), "evidence-rejected") << value;
      }
    }
  }
}

// A submodule that nobody appraised does not hide behind its status.
TEST(EarStatus, AffirmingWithoutAClaim_CountsAsNone) {
  for (const Json& vector : {Json::object(), Json{{"hardware", 0}, {"executables", 1}}}) {
    const auto verify_as = [&](const char* overall) {
      return verify_changed([&](Json& c) {
        c["submods"]["gpu"] = {{"ear_status", "affirming"}, {"ear_trustworthiness_vector", vector}};
        c["ear_status"] = overall;
      });
    };
    EXPECT_EQ(verify_as("affirming"), "evidence-rejected") << vector;
    EXPECT_EQ(verify_as("none"), "OK:none") << vector;
  }
  AppraisedEvidence evidence = affirming();
  evidence.trustworthiness = {};
  EXPECT_EQ(verify(make_ear(evidence, context(), key()).value()), "OK:none");
}

TEST(EarStatus, OfSeveralSubmodules_IsTheWorst) {
  EXPECT_EQ(verify_changed([](Json& c) {
              c["submods"]["gpu"] = {{"ear_status", "warning"}};
              c["ear_status"] = "warning";
            }),
            "OK:warning");
}

TEST(EarStatus, OfNoKnownTier_IsRefused) {
  EXPECT_EQ(verify_changed([](Json& c) { c["submods"]["tdx"]["ear_status"] = "excellent"; }),
            "schema-violation");
  EXPECT_EQ(verify_changed([](Json& c) { c["submods"]["tdx"]["ear_status"] = 2; }),
            "schema-violation");
  EXPECT_EQ(verify_changed([](Json& c) { c["submods"]["tdx"].erase("ear_status"); }),
            "schema-violation");
  EXPECT_EQ(verify_changed([](Json& c) { c["ear_status"] = "unknown"; }), "schema-violation");
  EXPECT_EQ(verify_changed([](Json& c) { c.erase("ear_status"); }), "schema-violation");
}

TEST(EarStatus, WithoutSubmodules_IsRefused) {
  EXPECT_EQ(verify_changed([](Json& c) { c.erase("submods"); }), "schema-violation");
  EXPECT_EQ(verify_changed([](Json& c) { c["submods"] = Json::object(); }), "schema-violation");
  EXPECT_EQ(verify_changed([](Json& c) { c["submods"] = Json::array(); }), "schema-violation");
  EXPECT_EQ(verify_changed([](Json& c) { c["submods"]["tdx"] = "affirming"; }), "schema-violation");
  for (const Json& value : {Json(128), Json(-129), Json(1000), Json("2"), Json(2.5)}) {
    EXPECT_EQ(verify_changed([&](Json& c) {
                c["submods"]["tdx"]["ear_trustworthiness_vector"]["hardware"] = value;
              }),
              "schema-violation")
        << value;
  }
  EXPECT_EQ(verify_changed([](Json& c) {
              c["submods"]["tdx"]["ear_trustworthiness_vector"] = Json::array({2});
            }),
            "schema-violation");
}

}  // namespace
}  // namespace assay::attestation
