// SPDX-License-Identifier: Apache-2.0
// Bundles of OMS: shape, the one signature, and vectors of model_signing.
#include "attestation/oms/bundle.h"

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attestation/oms/verify.h"
#include "tests/attestation/oms/statements.h"
#include "tests/attestation/support.h"

namespace assay::attestation::oms {
namespace {

using assay::test::code_of;
using assay::test::flip;
using assay::test::oms_resource;
using assay::test::oms_statement;
using assay::test::read_file;
using assay::test::signer;

constexpr SignatureAlgorithm kP256 = SignatureAlgorithm::kEcdsaP256;
constexpr SignatureAlgorithm kP384 = SignatureAlgorithm::kEcdsaP384;

std::filesystem::path vectors() {
  return std::filesystem::path(ASSAY_SOURCE_DIR) / "tests" / "vectors" / "oms";
}

Trust trust_in(const Signer& key) {
  return TrustedPublicKey{std::move(PublicKey::from_der(key.public_key())).value()};
}
Trust trust_in_vectors() {
  return TrustedPublicKey{
      std::move(PublicKey::from_pem(read_file(vectors() / "keys" / "signing-key-pub.pem")))
          .value()};
}

std::string code(std::string_view json, const Trust& trust, OldForm old_form = OldForm::kRefused) {
  const auto bundle = parse_bundle(as_bytes(json));
  return bundle ? code_of(verify_bundle(*bundle, as_bytes(json), trust, old_form))
                : code_of(bundle);
}

std::string signed_by(const Signer& key, const Json& statement = oms_statement()) {
  const std::string text = statement.dump();
  return *sign_bundle(*parse_oms_statement(as_bytes(text), OldForm::kRefused), key, {});
}

// A bundle over any bytes, by the key with which it is checked.
std::string bundle_over(std::string_view payload) {
  const Signer* const signers[] = {&signer(kP256)};
  Envelope envelope =
      *sign_envelope("application/vnd.in-toto+json", as_bytes(payload), signers, kKeyidNone);
  return *encode_bundle({KeyMaterial{}, std::move(envelope)});
}

TEST(OmsBundle, KeysOfEachCurve_SignAndVerify) {
  for (const SignatureAlgorithm algorithm : {kP256, kP384, SignatureAlgorithm::kEcdsaP521}) {
    const std::string json = signed_by(signer(algorithm));
    EXPECT_EQ(code(json, trust_in(signer(algorithm))), "ok");
    EXPECT_EQ(code(json, trust_in(signer(algorithm, 1))), "untrusted-signer");
  }
}

TEST(OmsBundle, Ed25519_IsRefusedForBoth) {
  const Signer& key = signer(SignatureAlgorithm::kEd25519);
  const std::string text = oms_statement().dump();
  const auto made = sign_bundle(*parse_oms_statement(as_bytes(text), OldForm::kRefused), key, {});
  EXPECT_EQ(code_of(made), "unsupported-key");
  EXPECT_EQ(code(signed_by(signer(kP256)), trust_in(key)), "unsupported-key");
}

TEST(OmsBundle, AnotherKeyWithoutAHint_DoesNotVerify) {
  Json json = Json::parse(signed_by(signer(kP256)));
  json["verificationMaterial"]["publicKey"].erase("hint");
  EXPECT_EQ(code(json.dump(), trust_in(signer(kP256))), "ok");
  EXPECT_EQ(code(json.dump(), trust_in(signer(kP256, 1))), "signature-invalid");
  json["verificationMaterial"]["publicKey"]["hint"] = nullptr;
  EXPECT_EQ(code(json.dump(), trust_in(signer(kP256))), "ok");
}

// long-function: a table of cases
TEST(OmsBundle, Shape_IsStrict) {
  struct Case {
    const char* what;
    const char* code;
    std::function<void(Json&)> change;
  };
  const auto envelope = [](Json& j) -> Json& { return j["dsseEnvelope"]; };
  const auto material = [](Json& j) -> Json& { return j["verificationMaterial"]; };
  const Json certificate = {{"rawBytes", "AA=="}};
  const std::vector<Case> cases = {
      {"another media type", "schema-violation",
       [](Json& j) { j["mediaType"] = "application/vnd.dev.sigstore.bundle.v0.4+json"; }},
      {"no media type", "schema-violation", [](Json& j) { j.erase("mediaType"); }},
      {"an unknown member", "unknown-member", [](Json& j) { j["more"] = 1; }},
      {"a name of another style", "unknown-member",
       [](Json& j) { j["dsse_envelope"] = j["dsseEnvelope"]; }},
      {"a message signature beside", "unknown-member",
       [](Json& j) { j["messageSignature"] = Json::object(); }},
      {"no envelope", "schema-violation", [](Json& j) { j.erase("dsseEnvelope"); }},
      {"no material", "schema-violation", [](Json& j) { j.erase("verificationMaterial"); }},
      {"empty material", "schema-violation", [&](Json& j) { material(j) = Json::object(); }},
      {"two materials", "schema-violation",
       [&](Json& j) { material(j)["certificate"] = certificate; }},
      {"an unknown material", "unknown-member", [&](Json& j) { material(j)["pgp"] = 1; }},
      {"entries that are no list", "schema-violation",
       [&](Json& j) { material(j)["tlogEntries"] = 1; }},
      {"no entries", "ok", [&](Json& j) { material(j).erase("tlogEntries"); }},
      {"a key of an old release", "ok",
       [&](Json& j) {
         material(j)["publicKey"] = {{"rawBytes", "AA=="},
                                     {"keyDetails", "PKIX_ECDSA_P256_SHA_256"}};
       }},
      {"a hint of another key", "untrusted-signer",
       [&](Json& j) { material(j)["publicKey"]["hint"] = std::string(64, '0'); }},
      {"a hint that is no text", "schema-violation",
       [&](Json& j) { material(j)["publicKey"]["hint"] = 1; }},
      {"another payload type", "payload-type-unknown",
       [&](Json& j) { envelope(j)["payloadType"] = "application/json"; }},
      {"no payload", "schema-violation", [&](Json& j) { envelope(j)["payload"] = ""; }},
      {"a payload with white space", "invalid-encoding",
       [&](Json& j) { envelope(j)["payload"] = envelope(j)["payload"].get<std::string>() + "\n"; }},
      {"an unknown member of the envelope", "unknown-member",
       [&](Json& j) { envelope(j)["more"] = 1; }},
      {"no signature", "signature-missing",
       [&](Json& j) { envelope(j)["signatures"] = Json::array(); }},
      {"two signatures, both valid", "schema-violation",
       [&](Json& j) { envelope(j)["signatures"].push_back(envelope(j)["signatures"][0]); }},
      {"an empty signature", "schema-violation",
       [&](Json& j) { envelope(j)["signatures"][0]["sig"] = ""; }},
      {"an unknown member of the signature", "unknown-member",
       [&](Json& j) { envelope(j)["signatures"][0]["cert"] = "x"; }},
      {"a keyid of any kind", "ok",
       [&](Json& j) { envelope(j)["signatures"][0]["keyid"] = "anything"; }},
      {"a keyid of nothing", "ok",
       [&](Json& j) { envelope(j)["signatures"][0]["keyid"] = nullptr; }},
      {"no keyid", "ok", [&](Json& j) { envelope(j)["signatures"][0].erase("keyid"); }},
      {"a keyid that is no text", "schema-violation",
       [&](Json& j) { envelope(j)["signatures"][0]["keyid"] = 1; }}};
  const std::string valid = signed_by(signer(kP256));
  for (const Case& one : cases) {
    Json json = Json::parse(valid);
    one.change(json);
    EXPECT_EQ(code(json.dump(), trust_in(signer(kP256))), one.code) << one.what;
  }
}

TEST(OmsBundle, CutAnywhere_IsRefused) {
  const std::string valid = signed_by(signer(kP256));
  for (std::size_t size = 0; size < valid.size(); ++size) {
    EXPECT_EQ(code(valid.substr(0, size), trust_in(signer(kP256))), "malformed-json");
  }
}

TEST(OmsBundle, EveryBitOfThePayload_IsSigned) {
  const auto bundle = parse_bundle(as_bytes(signed_by(signer(kP256))));
  const std::string json = signed_by(signer(kP256));
  for (std::size_t bit = 0; bit < bundle->envelope.payload.size() * 8; bit += 41) {
    Bundle changed = *parse_bundle(as_bytes(json));
    changed.envelope.payload = flip(changed.envelope.payload, bit);
    EXPECT_EQ(code(*encode_bundle(changed), trust_in(signer(kP256))), "signature-invalid");
  }
}

// The signature is verified before anything is read of what it signs.
TEST(OmsBundle, WhatIsSignedAndNoStatement_IsRefused) {
  EXPECT_EQ(code(bundle_over(oms_statement().dump()), trust_in(signer(kP256))), "ok");
  EXPECT_EQ(code(bundle_over("{}"), trust_in(signer(kP256))), "schema-violation");
  EXPECT_EQ(code(bundle_over("not JSON"), trust_in(signer(kP256))), "malformed-json");
  EXPECT_EQ(code(bundle_over("not JSON"), trust_in(signer(kP256, 1))), "signature-invalid");
}

TEST(OmsBundle, OtherMethods_AreNotTakenForAKey) {
  Json json = Json::parse(signed_by(signer(kP256)));
  json["verificationMaterial"].erase("publicKey");
  const Json certificate = {{"rawBytes", "AA=="}};
  Json chain = json;
  chain["verificationMaterial"]["x509CertificateChain"] = {
      {"certificates", Json::array({certificate})}};
  Json sigstore = json;
  sigstore["verificationMaterial"]["certificate"] = certificate;
  EXPECT_EQ(code(chain.dump(), trust_in(signer(kP256))), "untrusted-signer");
  EXPECT_EQ(code(sigstore.dump(), trust_in(signer(kP256))), "untrusted-signer");
  chain["verificationMaterial"]["x509CertificateChain"]["certificates"] = Json::array();
  EXPECT_EQ(code(chain.dump(), trust_in(signer(kP256))), "schema-violation");
  for (std::size_t i = 0; i <= kMaxChain; ++i) {
    chain["verificationMaterial"]["x509CertificateChain"]["certificates"].push_back(certificate);
  }
  EXPECT_EQ(code(chain.dump(), trust_in(signer(kP256))), "limit-exceeded");
}

TEST(OmsVectors, OfModelSigning_ComeOutAsTheirNamesSay) {
  EXPECT_EQ(code(read_file(vectors() / "key.bundle.json"), trust_in_vectors()), "ok");
  EXPECT_EQ(code(read_file(vectors() / "v1.0.0-elliptic-key" / "model.sig"), trust_in_vectors()),
            "ok");
  EXPECT_EQ(code(read_file(vectors() / "v1.0.1-elliptic-key" / "model.sig"), trust_in_vectors()),
            "ok");
  // Its signature is over the statement before the predicate was changed.
  EXPECT_EQ(code(read_file(vectors() / "wrong-predicate.bundle.json"), trust_in_vectors()),
            "signature-invalid");
  EXPECT_EQ(code(read_file(vectors() / "v1.0.0-certificate" / "model.sig"), trust_in_vectors()),
            "untrusted-signer");
}

// The key of the certificate, with which release 0.2 signed in its own way.
TEST(OmsVectors, Release02_VerifiesOnlyWhenAskedFor) {
  Json json = Json::parse(read_file(vectors() / "v0.2.0-certificate" / "model.sig"));
  json["verificationMaterial"] = {{"publicKey", Json::object()}};
  EXPECT_EQ(code(json.dump(), trust_in_vectors()), "signature-invalid");
  EXPECT_EQ(code(json.dump(), trust_in_vectors(), OldForm::kAccepted), "ok");
  const auto bundle = parse_bundle(as_bytes(json.dump()));
  Bundle changed = *parse_bundle(as_bytes(json.dump()));
  changed.envelope.payload = flip(bundle->envelope.payload, 100);
  EXPECT_EQ(code(*encode_bundle(changed), trust_in_vectors(), OldForm::kAccepted),
            "signature-invalid");
}

}  // namespace
}  // namespace assay::attestation::oms
