// SPDX-License-Identifier: Apache-2.0
// Tokens and keys of JOSE below the results that are made of them: which key may sign which token.
#include "attestation/jws.h"

#include <string>

#include <gtest/gtest.h>

#include "attestation/jwks.h"
#include "tests/attestation/odd_signer.h"
#include "tests/attestation/support.h"
#include "tests/attestation/tokens.h"

namespace assay::attestation {
namespace {

using test::code_of;
using test::jwk_of;
using test::kAlgorithms;
using test::signer;
using test::token_of;

PublicKey half_of(const Signer& key) {
  return std::move(PublicKey::from_der(key.public_key())).value();
}

TEST(Jws, Token_VerifiesWithTheCurveOfItsKeyAlone) {
  for (const auto algorithm : {SignatureAlgorithm::kEcdsaP256, SignatureAlgorithm::kEcdsaP384}) {
    const Signer& key = signer(algorithm);
    const std::string text = token_of({{"alg", "x"}}, Json::object(), key);
    const Token token = parse_token(text).value();
    EXPECT_EQ(code_of(verify_ecdsa(token, half_of(key))), "ok");
    for (const auto other : kAlgorithms) {
      EXPECT_EQ(code_of(verify_ecdsa(token, half_of(signer(other, 1)))), "signature-invalid");
    }
  }
}

// 64 bytes that Ed25519 takes for a signature are none of a token.
TEST(Jws, Ed25519_SignsNoToken) {
  const Signer& key = signer(SignatureAlgorithm::kEd25519);
  const std::string signed_part =
      base64url_encode(as_bytes("{}")) + "." + base64url_encode(as_bytes("{}"));
  const std::string text =
      signed_part + "." + base64url_encode(key.sign(as_bytes(signed_part)).value());
  EXPECT_EQ(code_of(verify_ecdsa(parse_token(text).value(), half_of(key))), "signature-invalid");
  EXPECT_EQ(jws_algorithm(half_of(key)), "");
}

TEST(Jws, OwnToken_HasOneFormAndALimit) {
  const Signer& key = signer(SignatureAlgorithm::kEcdsaP256);
  const std::string text = sign_jws({{"a", 1}}, key).value();
  EXPECT_EQ(verify_jws(text, half_of(key)).value(), Json({{"a", 1}}));
  EXPECT_EQ(code_of(verify_jws(text, half_of(signer(SignatureAlgorithm::kEcdsaP256, 1)))),
            "signature-invalid");
  EXPECT_EQ(code_of(verify_jws(text, half_of(signer(SignatureAlgorithm::kEcdsaP384)))),
            "signature-invalid");
  EXPECT_EQ(code_of(verify_jws(std::string(kMaxTokenBytes + 1, 'a'), half_of(key))),
            "schema-violation");
  EXPECT_EQ(code_of(sign_jws({{"a", std::string(kMaxTokenBytes, 'a')}}, key)), "limit-exceeded");
  const std::size_t room = (kMaxTokenBytes - text.size()) / 4 * 3;  // 3 bytes are 4 digits
  const std::string longest = sign_jws({{"a", std::string(room - 1, 'a')}}, key).value();
  EXPECT_GT(longest.size(), kMaxTokenBytes - 4);
  EXPECT_EQ(code_of(verify_jws(longest, half_of(key))), "ok");
  EXPECT_EQ(code_of(sign_jws({{"a", std::string(room + 3, 'a')}}, key)), "limit-exceeded");
  EXPECT_EQ(code_of(sign_jws({{"a", 1}}, signer(SignatureAlgorithm::kEd25519))), "unsupported-key");
}

// Whoever takes longer tokens says so.
TEST(Jws, Limits_AreOfTokenAndHeader) {
  const Signer& key = signer(SignatureAlgorithm::kEcdsaP256);
  const auto detail = [](const std::string& text, const TokenLimits& limits) {
    const auto token = parse_token(text, limits);
    return token ? "" : token.error().detail;
  };
  const std::string text = token_of({{"a", std::string(kMaxTokenHeaderBytes, 'x')}}, {}, key);
  const std::size_t header = kMaxTokenHeaderBytes + 8;
  EXPECT_EQ(detail(text, {.header = header}), "");
  EXPECT_EQ(detail(text, {.header = header - 1}), "the header of a token has at most 1031 bytes");
  EXPECT_EQ(detail(text, {}), "the header of a token has at most 1024 bytes");
  EXPECT_EQ(detail(text, {.token = text.size(), .header = header}), "");
  EXPECT_EQ(detail(text, {.token = 1000, .header = header}), "a token has at most 1000 bytes");
  const std::string deep = token_of(Json::parse(R"({"a":[{"b":1}]})"), {}, key);
  EXPECT_EQ(detail(deep, {.header_depth = 3}), "");
  EXPECT_EQ(detail(deep, {}), "header and claims of a token are JSON objects");
}

TEST(Jws, KeyThatDoesNotSign_MakesNoToken) {
  EXPECT_EQ(code_of(sign_jws({}, assay::test::OddSigner(Bytes()))), "key-unusable");
  EXPECT_EQ(code_of(sign_jws({}, assay::test::OddSigner(Bytes(64, 1)))), "key-unusable") << "raw";
  EXPECT_EQ(code_of(sign_jws({}, assay::test::OddSigner(fail(ErrorCode::kUnavailable, "busy")))),
            "unavailable");
}

TEST(Jwks, KeyOfEitherCurve_IsReadAsItself) {
  for (const auto algorithm : {SignatureAlgorithm::kEcdsaP256, SignatureAlgorithm::kEcdsaP384}) {
    const Signer& key = signer(algorithm);
    Json jwk = jwk_of(key);
    EXPECT_EQ(ec_key_from_jwk(jwk)->id(), key.key_id());
    jwk["alg"] = algorithm == SignatureAlgorithm::kEcdsaP256 ? "ES256" : "ES384";
    jwk["use"] = "sig";
    jwk["kid"] = "any";
    EXPECT_EQ(ec_key_from_jwk(jwk)->id(), key.key_id());
    jwk["alg"] = algorithm == SignatureAlgorithm::kEcdsaP256 ? "ES384" : "ES256";
    EXPECT_EQ(code_of(ec_key_from_jwk(jwk)), "unsupported-key");
  }
}

}  // namespace
}  // namespace assay::attestation
