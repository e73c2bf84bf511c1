// SPDX-License-Identifier: Apache-2.0
// What the verifier makes of a plug-in's answer. The plug-in is played.
#include "attestation/plugin/plugin_verifier.h"

#include <functional>

#include <gtest/gtest.h>

#include "attestation/ear.h"
#include "attestation/verifier_registry.h"
#include "schemas/core/sha.h"
#include "tests/attestation/evidence.h"
#include "tests/attestation/support.h"

namespace assay::attestation::plugin {
namespace {

using test::expected_report_data;

// Answers every call with the same bytes.
class PlayedHost final : public Host {
 public:
  explicit PlayedHost(Bytes answer) : answer_(std::move(answer)) {}
  [[nodiscard]] Result<Bytes> call(const PluginCall& /*call*/) override { return answer_; }

 private:
  Bytes answer_;
};

Digest file_digest() { return sha256(as_bytes("a plug-in")); }

Json valid_answer() {
  return {{"type", "played"},
          {"report_data", hex_encode(expected_report_data())},
          {"verdict", "accepted"},
          {"tcb_status", "UpToDate"},
          {"platform", "0011"},
          {"valid_until", 4'000'000'000},
          {"measurements", {{"image", "abc"}}},
          {"trustworthiness", {{"hardware", 2}, {"executables", 3}}}};
}

std::unique_ptr<const EvidenceVerifier> verifier_with(const Bytes& answer,
                                                      std::uint64_t generation = 0) {
  return make_plugin_verifier({"played", "application/vnd.example.played", generation},
                              file_digest(), std::make_unique<PlayedHost>(answer));
}

Appraisal appraisal(Json policy = {{"reference_values", {{"image", {"abc", "def"}}}}}) {
  Appraisal made;
  made.evidence_type = "played";
  made.policy = std::move(policy);
  return made;
}

Result<AppraisedEvidence> appraise(const Json& answer, const Appraisal& terms = appraisal(),
                                   Purpose purpose = Purpose::kEnrol) {
  return verifier_with(to_bytes(answer.dump()))
      ->appraise({"played", to_bytes("q"), {}, Json()}, terms, purpose, expected_report_data(),
                 tdx::testing::now());
}

// "OK", the code of the refusal, or that of the error.
std::string verdict(const Json& answer, const Appraisal& terms = appraisal(),
                    Purpose purpose = Purpose::kEnrol) {
  const auto appraised = appraise(answer, terms, purpose);
  if (!appraised) {
    return std::string(info(appraised.error().code).code);
  }
  EXPECT_EQ(appraised->accepted, appraised->error.empty());
  return appraised->accepted ? "OK" : appraised->error;
}

TEST(PluginVerifier, AcceptedAnswer_HasThePluginAsItsAnchorAndNoVendor) {
  const AppraisedEvidence appraised = appraise(valid_answer()).value();
  EXPECT_TRUE(appraised.accepted) << appraised.error;
  EXPECT_EQ(appraised.type, "played");
  EXPECT_EQ(appraised.anchor, Anchor::plugin(file_digest()));
  EXPECT_FALSE(appraised.anchor_is_vendor);
  EXPECT_TRUE(appraised.has_reference_values);
  EXPECT_EQ(appraised.tcb_status, "UpToDate");
  EXPECT_EQ(to_rfc3339(appraised.valid_until.value()), "2096-10-02T07:06:40.000Z");
  EXPECT_TRUE(appraised.high_water.empty());
}

TEST(PluginVerifier, Platform_IsOfThisTypeAlone) {
  const AppraisedEvidence appraised = appraise(valid_answer()).value();
  EXPECT_EQ(appraised.platform, plugin_platform("played", Bytes{0x00, 0x11}));
  EXPECT_NE(appraised.platform, plugin_platform("other", Bytes{0x00, 0x11}));
  // The PPID of a TDX machine has 32 digits.
  EXPECT_EQ(appraised.platform.size(), 64U);
  // Where the type ends and the id begins is not open.
  EXPECT_NE(plugin_platform("a", to_bytes("bc")), plugin_platform("ab", to_bytes("c")));
}

TEST(PluginVerifier, Generation_IsAMarkOfTheEvidence) {
  const auto appraised =
      verifier_with(to_bytes(valid_answer().dump()), 7)
          ->appraise({"played", to_bytes("q"), {}, Json()}, appraisal(), Purpose::kEnrol,
                     expected_report_data(), tdx::testing::now());
  EXPECT_EQ(appraised->high_water, (std::vector<HighWater>{{"verifiers", 7}}));
}

TEST(PluginVerifier, ReferenceValues_AreComparedHereWhateverThePluginSays) {
  Json answer = valid_answer();
  EXPECT_EQ(verdict(answer), "OK");
  answer["measurements"]["image"] = "other";
  EXPECT_EQ(verdict(answer), "REFERENCE_VALUE_MISMATCH:image");
  answer["measurements"] = {{"other", "abc"}};
  EXPECT_EQ(verdict(answer), "REFERENCE_VALUE_MISMATCH:image");
  answer.erase("measurements");
  EXPECT_EQ(verdict(answer), "REFERENCE_VALUE_MISMATCH:image");
}

TEST(PluginVerifier, WithoutReferenceValues_NothingEnrols) {
  const Json answer = valid_answer();
  for (const Json& policy :
       {Json::object(), Json{{"reference_values", Json::object()}},
        Json{{"reference_values", {{"image", Json::array()}}}}, Json{{"minimum", 1}}}) {
    EXPECT_EQ(verdict(answer, appraisal(policy)), "REFERENCE_VALUES_MISSING") << policy;
    EXPECT_EQ(verdict(answer, appraisal(policy), Purpose::kStage), "REFERENCE_VALUES_MISSING");
    EXPECT_EQ(verdict(answer, appraisal(policy), Purpose::kInspect), "OK");
    Appraisal waived = appraisal(policy);
    waived.dangerous_allow_missing_reference_values = true;
    EXPECT_EQ(verdict(answer, waived), "OK");
  }
}

TEST(PluginVerifier, EndOfValidity_IsComparedHere) {
  Json answer = valid_answer();
  answer["valid_until"] = 1'000'000'000;
  EXPECT_EQ(verdict(answer), "EVIDENCE_EXPIRED");
  answer["valid_until"] = 9007199254740991;
  EXPECT_EQ(verdict(answer), "OK");
  answer.erase("valid_until");
  EXPECT_EQ(verdict(answer), "OK");
}

TEST(PluginVerifier, Rejection_StaysOneWithItsCode) {
  Json answer = valid_answer();
  answer["verdict"] = "rejected";
  answer["error"] = "SIGNATURE_MISMATCH:chip";
  EXPECT_EQ(verdict(answer), "SIGNATURE_MISMATCH:chip");
  EXPECT_EQ(verdict(answer, appraisal(Json::object()), Purpose::kInspect),
            "SIGNATURE_MISMATCH:chip");
}

// Each is one change of a valid answer; none of them is an answer.
TEST(PluginVerifier, WhatIsNoAnswer_IsAnError) {
  const std::vector<std::pair<std::string, std::function<void(Json&)>>> cases = {
      {"other type", [](Json& a) { a["type"] = "tdx"; }},
      {"other report data", [](Json& a) { a["report_data"] = hex_encode(ReportDataBytes{}); }},
      {"upper case", [](Json& a) { a["report_data"] = std::string(128, 'A'); }},
      {"no report data", [](Json& a) { a.erase("report_data"); }},
      {"no type", [](Json& a) { a.erase("type"); }},
      {"no verdict", [](Json& a) { a.erase("verdict"); }},
      {"other verdict", [](Json& a) { a["verdict"] = "perhaps"; }},
      {"verdict of another type", [](Json& a) { a["verdict"] = true; }},
      {"accepted with an error", [](Json& a) { a["error"] = "X"; }},
      {"rejected without an error", [](Json& a) { a["verdict"] = "rejected"; }},
      {"accepted without a platform", [](Json& a) { a.erase("platform"); }},
      {"empty platform", [](Json& a) { a["platform"] = ""; }},
      {"platform with an odd digit", [](Json& a) { a["platform"] = "001"; }},
      {"no trust claimed", [](Json& a) { a.erase("trustworthiness"); }},
      {"empty trust", [](Json& a) { a["trustworthiness"] = Json::object(); }},
      {"zero trust", [](Json& a) { a["trustworthiness"] = {{"hardware", 0}}; }},
      {"unknown aspect", [](Json& a) { a["trustworthiness"]["luck"] = 2; }},
      {"trust out of range", [](Json& a) { a["trustworthiness"]["hardware"] = 128; }},
      {"contraindicated", [](Json& a) { a["trustworthiness"]["hardware"] = 96; }},
      {"contraindicated by an own value", [](Json& a) { a["trustworthiness"]["hardware"] = -97; }},
      {"contraindicated part",
       [](Json& a) { a["parts"]["gpu-0"] = {{"trustworthiness", {{"hardware", 97}}}}; }},
      {"part without trust", [](Json& a) { a["parts"]["gpu-0"] = Json::object(); }},
      {"part with a dot",
       [](Json& a) { a["parts"]["gpu.0"] = {{"trustworthiness", {{"hardware", 2}}}}; }},
      {"vendor", [](Json& a) { a["anchor_is_vendor"] = true; }},
      {"anchor", [](Json& a) { a["anchor"] = "sha256:" + std::string(64, '0'); }},
      {"status with a space", [](Json& a) { a["tcb_status"] = "Up ToDate"; }},
      {"measurement that is no text", [](Json& a) { a["measurements"]["image"] = 1; }},
      {"measurement with a control character", [](Json& a) { a["measurements"]["image"] = "\n"; }},
      {"negative time", [](Json& a) { a["valid_until"] = -1; }},
  };
  for (const auto& [name, change] : cases) {
    Json answer = valid_answer();
    change(answer);
    EXPECT_EQ(verdict(answer), "verifier-failed") << name;
    EXPECT_EQ(verdict(answer, appraisal(), Purpose::kInspect), "verifier-failed") << name;
  }
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("null"), std::string("\xff\xff"),
        valid_answer().dump() + "{}", std::string(60'000, '['), std::string("{\"verdict\":")}) {
    const auto appraised =
        verifier_with(to_bytes(text))
            ->appraise({"played", to_bytes("q"), {}, Json()}, appraisal(), Purpose::kEnrol,
                       expected_report_data(), tdx::testing::now());
    EXPECT_EQ(appraised.error().code, ErrorCode::kVerifierFailed) << text.substr(0, 20);
  }
}

TEST(PluginVerifier, AppraisalThatCannotBeMeant_IsRefused) {
  const auto verifier = verifier_with({});
  EXPECT_TRUE(verifier->check(appraisal()));
  EXPECT_TRUE(verifier->check(appraisal({{"what the plug-in means", {1, 2}}})));
  Appraisal anchored = appraisal();
  anchored.dangerous_anchors = {to_bytes("root")};
  EXPECT_EQ(verifier->check(anchored).error().where, "/dangerous_anchors");
  EXPECT_EQ(verdict(valid_answer(), anchored), "schema-violation");
  // Imported values are of TDX: to pass over them would be to accept without them.
  Appraisal importing = appraisal();
  importing.imported.resize(1);
  EXPECT_EQ(verifier->check(importing).error().where, "/policy/reference_values");
  EXPECT_EQ(verdict(valid_answer(), importing), "schema-violation");
  Appraisal constrained = appraisal();
  constrained.constrained = {"mrtd"};
  EXPECT_EQ(verdict(valid_answer(), constrained), "schema-violation");
  const Appraisal wrong = appraisal({{"reference_values", {{"image", "abc"}}}});
  EXPECT_EQ(verifier->check(wrong).error().where, "/policy/reference_values/image");
  EXPECT_EQ(verdict(valid_answer(), wrong), "schema-violation");
}

TEST(VerifierRegistry, SpeaksForOneTypeAndOneMediaType) {
  VerifierRegistry registry;
  const auto named = [](const std::string& type, const std::string& media_type) {
    return make_plugin_verifier({type, media_type}, file_digest(),
                                std::make_unique<PlayedHost>(to_bytes(valid_answer().dump())));
  };
  ASSERT_TRUE(registry.add(named("played", "application/vnd.example.played")));
  EXPECT_FALSE(registry.add(named("played", "application/vnd.example.other")));
  EXPECT_FALSE(registry.add(named("other", "application/vnd.example.played")));
  EXPECT_FALSE(registry.add(named("tdx", "application/vnd.example.tdx")));
  EXPECT_FALSE(registry.add(named("other", "application/vnd.assay.tdx-quote")));
  EXPECT_EQ(registry.all().size(), built_in_verifiers().all().size() + 1);
  EXPECT_EQ(registry.of_media_type("application/vnd.example.played").value(),
            registry.of_type("played").value());
  EXPECT_EQ(registry.of_media_type("text/plain").error().code, ErrorCode::kEvidenceTypeUnknown);

  Evidence evidence{"played", to_bytes("q"), {}, Json(), "application/vnd.example.played"};
  const auto code = [&](const Appraisal& terms) {
    const auto appraised = registry.appraise(evidence, terms, Purpose::kEnrol,
                                             expected_report_data(), tdx::testing::now());
    return appraised ? std::string("OK") : std::string(info(appraised.error().code).code);
  };
  EXPECT_EQ(code(appraisal()), "OK");
  EXPECT_EQ(code(test::valid_appraisal()), "evidence-type-unknown");
  evidence.media_type = "application/vnd.assay.tdx-quote";
  EXPECT_EQ(code(appraisal()), "evidence-type-unknown");
  evidence.media_type.clear();
  evidence.type = "tdx";  // a plug-in is not asked about it
  EXPECT_EQ(code(appraisal()), "evidence-type-unknown");
}

TEST(PluginEar, EachPartHasASubmodule_AndTheWorstCounts) {
  Json answer = valid_answer();
  answer["parts"] = {
      {"gpu-0", {{"trustworthiness", {{"hardware", 2}}}, {"measurements", {{"vbios", "96"}}}}},
      {"gpu-1", {{"trustworthiness", {{"hardware", 33}}}}}};
  const AppraisedEvidence appraised = appraise(answer).value();
  ASSERT_EQ(appraised.parts.size(), 2U);
  const Signer& signer = test::signer(SignatureAlgorithm::kEcdsaP256);
  EarContext context;
  context.issuer = "assay.test";
  context.now = tdx::testing::now();
  const auto token = make_ear(appraised, context, signer);
  const auto key = PublicKey::from_der(signer.public_key());
  const auto claims = verify_ear(token.value(), key.value(), "assay.test", context.now);
  ASSERT_TRUE(claims) << to_string(claims.error());
  EXPECT_EQ(claims->status, "warning");
  const Json& modules = claims->claims["submods"];
  EXPECT_EQ(modules.size(), 3U);
  EXPECT_EQ(modules["played"]["ear_status"], "affirming");
  EXPECT_EQ(modules["played.gpu-0"]["ear_attester_claims"]["vbios"], "96");
  EXPECT_EQ(modules["played.gpu-1"]["ear_status"], "warning");
}

}  // namespace
}  // namespace assay::attestation::plugin
