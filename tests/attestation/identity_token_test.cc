// SPDX-License-Identifier: Apache-2.0
// ServiceAccount tokens: one that counts, and what is wrong with each of the others.
#include "attestation/identity_token.h"

#include <functional>
#include <memory>

#include <gtest/gtest.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rsa.h>

#include "attestation/crypto/ecdsa_signature.h"
#include "attestation/keys.h"
#include "schemas/core/bytes.h"
#include "tests/attestation/tokens.h"

namespace assay::attestation {
namespace {

constexpr std::string_view kAudience = "assay.example.com/log";
const Timestamp kNow{std::chrono::seconds(1'900'000'000)};

using Pkey = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

Pkey rsa_key(unsigned bits) { return {EVP_RSA_gen(bits), &EVP_PKEY_free}; }

std::string number_of(EVP_PKEY* key, const char* name) {
  BIGNUM* number = nullptr;
  EXPECT_EQ(EVP_PKEY_get_bn_param(key, name, &number), 1);
  Bytes bytes(static_cast<std::size_t>(BN_num_bytes(number)));
  BN_bn2bin(number, bytes.data());
  BN_free(number);
  return base64url_encode(bytes);
}

Json rsa_jwk(EVP_PKEY* key, const std::string& kid) {
  return {{"kty", "RSA"},
          {"kid", kid},
          {"alg", "RS256"},
          {"use", "sig"},
          {"n", number_of(key, OSSL_PKEY_PARAM_RSA_N)},
          {"e", number_of(key, OSSL_PKEY_PARAM_RSA_E)}};
}

Json ec_jwk(const Signer& key, const std::string& kid) {
  const ByteView spki = key.public_key();
  return {{"kty", "EC"},
          {"kid", kid},
          {"crv", "P-256"},
          {"x", base64url_encode(spki.last(64).first(32))},
          {"y", base64url_encode(spki.last(32))}};
}

Bytes rsa_sign(EVP_PKEY* key, std::string_view text) {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  std::size_t size = 0;
  EXPECT_EQ(EVP_DigestSignInit(context, nullptr, EVP_sha256(), nullptr, key), 1);
  const auto* data = reinterpret_cast<const unsigned char*>(text.data());
  EXPECT_EQ(EVP_DigestSign(context, nullptr, &size, data, text.size()), 1);
  Bytes signature(size);
  EXPECT_EQ(EVP_DigestSign(context, signature.data(), &size, data, text.size()), 1);
  EVP_MD_CTX_free(context);
  return signature;
}

// r and s of a DER signature, 32 bytes each.
Bytes ec_sign(const Signer& key, std::string_view text) {
  const RawSignature raw = raw_signature(key.sign(as_bytes(text)).value()).value();
  return {raw.begin(), raw.end()};
}

std::string part(const Json& json) { return base64url_encode(as_bytes(json.dump())); }

class IdentityToken : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { rsa_ = rsa_key(2048); }
  static void TearDownTestSuite() { rsa_.reset(); }

  ServiceAccountIssuer issuer() const {
    return {"https://kubernetes.default.svc",
            "system:serviceaccount:assay-system:assay-worker",
            {{"keys", {rsa_jwk(rsa_.get(), "rsa-1"), ec_jwk(*ec_, "ec-1")}}}};
  }
  static Json claims() {
    return {{"iss", "https://kubernetes.default.svc"},
            {"sub", "system:serviceaccount:assay-system:assay-worker"},
            {"aud", {"other", kAudience}},
            {"iat", 1'899'999'990},
            {"nbf", 1'899'999'990},
            {"exp", 1'900'003'600},
            {"kubernetes.io",
             {{"namespace", "assay-system"},
              {"node", {{"name", "gpu-1"}, {"uid", "b2a1"}}},
              {"pod", {{"name", "assay-worker-x"}, {"uid", "a1b2"}}}}}};
  }
  static Json header() { return {{"alg", "RS256"}, {"kid", "rsa-1"}}; }
  static std::string token(const Json& claims, const Json& header) {
    const std::string text = part(header) + "." + part(claims);
    return text + "." + base64url_encode(rsa_sign(rsa_.get(), text));
  }
  std::string ec_token(const Json& claims, const Json& header) const {
    const std::string text = part(header) + "." + part(claims);
    return text + "." + base64url_encode(ec_sign(*ec_, text));
  }
  Result<std::string> verify(std::string_view text, Timestamp now = kNow) const {
    return verify_identity_token(text, issuer(), kAudience, now);
  }
  void expect_rejected(std::string_view text, const std::string& what) const {
    const auto result = verify(text);
    ASSERT_FALSE(result) << what;
    EXPECT_EQ(result.error().code, ErrorCode::kIdentityTokenRejected) << what;
  }

  static inline Pkey rsa_{nullptr, &EVP_PKEY_free};
  std::unique_ptr<Signer> ec_ = generate_key(SignatureAlgorithm::kEcdsaP256).value();
};

TEST_F(IdentityToken, OfTheIssuer_NamesTheNode) {
  EXPECT_EQ(verify(token(claims(), header())), "gpu-1");
  EXPECT_EQ(verify(ec_token(claims(), {{"alg", "ES256"}, {"kid", "ec-1"}, {"typ", "JWT"}})),
            "gpu-1");
  Json one = claims();
  one["aud"] = kAudience;
  one.erase("nbf");
  EXPECT_EQ(verify(token(one, header())), "gpu-1");
}

TEST_F(IdentityToken, Claims_ThatSaySomethingElse_AreRejected) {
  const std::vector<std::pair<std::string, std::function<void(Json&)>>> cases = {
      {"another issuer", [](Json& c) { c["iss"] = "https://evil.example"; }},
      {"no issuer", [](Json& c) { c.erase("iss"); }},
      {"another account", [](Json& c) { c["sub"] = "system:serviceaccount:default:default"; }},
      {"no account", [](Json& c) { c.erase("sub"); }},
      {"another audience", [](Json& c) { c["aud"] = {"https://kubernetes.default.svc"}; }},
      {"an audience that begins so", [](Json& c) { c["aud"] = std::string(kAudience) + "2"; }},
      {"no audience", [](Json& c) { c.erase("aud"); }},
      {"audience of another kind", [](Json& c) { c["aud"] = {{"a", kAudience}}; }},
      {"audiences that are no texts", [](Json& c) { c["aud"] = {7, {kAudience}}; }},
      {"an issuer that is a list", [](Json& c) { c["iss"] = Json::array({c["iss"]}); }},
      {"expired", [](Json& c) { c["exp"] = 1'900'000'000; }},
      {"never expires", [](Json& c) { c.erase("exp"); }},
      {"expires in words", [](Json& c) { c["exp"] = "1900003600"; }},
      {"expires beyond time", [](Json& c) { c["exp"] = 9'007'199'254'740'991; }},
      {"not yet issued", [](Json& c) { c["iat"] = 1'900'000'061; }},
      {"never issued", [](Json& c) { c.erase("iat"); }},
      {"not yet valid", [](Json& c) { c["nbf"] = 1'900'000'061; }},
      {"valid from a word", [](Json& c) { c["nbf"] = true; }},
      {"no node", [](Json& c) { c["kubernetes.io"].erase("node"); }},
      {"node without name", [](Json& c) { c["kubernetes.io"]["node"].erase("name"); }},
      {"node of another kind", [](Json& c) { c["kubernetes.io"]["node"] = "gpu-1"; }},
      {"node with an empty name", [](Json& c) { c["kubernetes.io"]["node"]["name"] = ""; }},
      {"no claims of Kubernetes", [](Json& c) { c.erase("kubernetes.io"); }},
  };
  for (const auto& [what, change] : cases) {
    Json changed = claims();
    change(changed);
    expect_rejected(token(changed, header()), what);
  }
}

TEST_F(IdentityToken, Times_HaveAMinuteOfLeeway_ButNoneAtTheEnd) {
  EXPECT_TRUE(verify(token(claims(), header()), kNow - std::chrono::seconds(70)));
  EXPECT_FALSE(verify(token(claims(), header()), kNow - std::chrono::seconds(71)));
  EXPECT_TRUE(verify(token(claims(), header()), kNow + std::chrono::seconds(3599)));
  EXPECT_FALSE(verify(token(claims(), header()), kNow + std::chrono::seconds(3600)));
}

TEST_F(IdentityToken, UnsignedAndConfused_AreRejected) {
  const std::string unsigned_text =
      part({{"alg", "none"}, {"kid", "rsa-1"}}) + "." + part(claims());
  expect_rejected(unsigned_text + ".", "none without a signature");
  expect_rejected(token(claims(), {{"alg", "none"}, {"kid", "rsa-1"}}), "none");
  expect_rejected(token(claims(), {{"alg", "ES256"}, {"kid", "rsa-1"}}), "ES256 under RSA");
  expect_rejected(ec_token(claims(), {{"alg", "RS256"}, {"kid", "ec-1"}}), "RS256 under EC");
  expect_rejected(token(claims(), {{"alg", "RS256"}, {"kid", "ec-1"}}), "the other key");
  expect_rejected(token(claims(), {{"alg", "RS512"}, {"kid", "rsa-1"}}), "RS512");
  expect_rejected(token(claims(), {{"alg", "RS256"}, {"kid", "rsa-2"}}), "an unknown key");
  expect_rejected(token(claims(), {{"alg", "RS256"}}), "no key");
  expect_rejected(token(claims(), {{"kid", "rsa-1"}}), "no alg");
  expect_rejected(token(claims(), {{"alg", "RS256"}, {"kid", {"rsa-1"}}}), "a list of keys");
  expect_rejected(token(Json::array({claims()}), header()), "claims that are no object");
  expect_rejected(token(claims(), {{"alg", "RS256"}, {"kid", "rsa-1"}, {"crit", {"exp"}}}), "crit");
  expect_rejected(
      token(claims(), {{"alg", "RS256"}, {"kid", "rsa-1"}, {"jwk", rsa_jwk(rsa_.get(), "rsa-1")}}),
      "a key of its own");
}

// The public key as the secret of an HMAC (RFC 8725 section 2.1).
TEST_F(IdentityToken, HmacUnderThePublicKey_IsRejected) {
  const std::string secret = issuer().jwks["keys"][0]["n"];
  for (const char* alg : {"HS256", "RS256"}) {
    const std::string text = part({{"alg", alg}, {"kid", "rsa-1"}}) + "." + part(claims());
    Bytes mac(32);
    unsigned size = 0;
    HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
         reinterpret_cast<const unsigned char*>(text.data()), text.size(), mac.data(), &size);
    expect_rejected(text + "." + base64url_encode(mac), alg);
  }
}

TEST_F(IdentityToken, SignedByAnotherKeyOfTheSameName_IsRejected) {
  const Pkey other = rsa_key(2048);
  const std::string text = part(header()) + "." + part(claims());
  expect_rejected(text + "." + base64url_encode(rsa_sign(other.get(), text)), "another key");
}

// Every character is either part of what is signed or of the signature in its one spelling.
TEST_F(IdentityToken, AnyChangedCharacter_IsRejected) {
  for (const std::string& good :
       {token(claims(), header()), ec_token(claims(), {{"alg", "ES256"}, {"kid", "ec-1"}})}) {
    ASSERT_TRUE(verify(good));
    for (std::size_t i = 0; i < good.size(); i += 3) {
      std::string bad = good;
      bad[i] = bad[i] == 'A' ? 'B' : 'A';
      EXPECT_FALSE(verify(bad)) << i;
      bad = good;
      bad.erase(i, 1);
      EXPECT_FALSE(verify(bad)) << i;
      bad = good;
      bad.insert(i, ".");
      EXPECT_FALSE(verify(bad)) << i;
    }
    for (std::size_t size = 0; size < good.size(); size += 7) {
      EXPECT_FALSE(verify(good.substr(0, size)));
    }
    EXPECT_FALSE(verify(good + "="));
    EXPECT_FALSE(verify(" " + good));
  }
  expect_rejected(std::string(kMaxIdentityTokenBytes + 1, 'a'), "too long");
}

TEST_F(IdentityToken, KeySet_ThatIsNoGood_IsRefused) {
  const Json rsa = rsa_jwk(rsa_.get(), "a");
  const Json ec = ec_jwk(*ec_, "b");
  const auto set = [](Json key) { return Json{{"keys", Json::array({std::move(key)})}}; };
  const auto with = [](Json key, const char* name, const Json& value) {
    key[name] = value;
    return key;
  };
  EXPECT_TRUE(check_key_set(set(rsa)));
  EXPECT_TRUE(check_key_set(set(ec)));
  EXPECT_FALSE(check_key_set(Json::array()));
  EXPECT_FALSE(check_key_set(Json::object()));
  EXPECT_FALSE(check_key_set({{"keys", Json::array()}}));
  EXPECT_FALSE(check_key_set({{"keys", rsa}})) << "a key in place of the list";
  EXPECT_FALSE(check_key_set(set("a")));
  EXPECT_FALSE(check_key_set({{"keys", {with(rsa, "kid", "b"), ec}}})) << "one kid twice";
  EXPECT_FALSE(check_key_set(set(rsa_jwk(rsa_key(1024).get(), "a")))) << "a short key";
  EXPECT_FALSE(check_key_set(set(with(rsa, "e", "AQ")))) << "exponent 1";
  // The numbers of RFC 7518 section 6.3.1: an even modulus or exponent is no key, and what is
  // longer than the longest key is not calculated with.
  Bytes modulus = base64_decode_any(rsa["n"].get<std::string>() + "==").value();
  modulus.back() &= 0xfe;
  EXPECT_FALSE(check_key_set(set(with(rsa, "n", base64url_encode(modulus))))) << "even modulus";
  EXPECT_FALSE(check_key_set(set(with(rsa, "n", base64url_encode(Bytes(1025, 0xff))))));
  EXPECT_TRUE(check_key_set(set(with(rsa, "n", base64url_encode(Bytes(1024, 0xff))))));
  EXPECT_FALSE(check_key_set(set(with(rsa, "n", "?"))));
  EXPECT_FALSE(check_key_set(set(with(rsa, "n", 7))));
  EXPECT_FALSE(check_key_set(set(with(rsa, "e", "Ag")))) << "exponent 2";
  EXPECT_FALSE(check_key_set(set(with(rsa, "e", base64url_encode(Bytes(9, 1))))));
  EXPECT_FALSE(check_key_set(set(with(rsa, "e", "A"))));
  EXPECT_FALSE(check_key_set(set(with(rsa, "alg", "ES256"))));
  EXPECT_FALSE(check_key_set(set(with(rsa, "use", "enc"))));
  EXPECT_FALSE(check_key_set(set(with(rsa, "d", "AQAB")))) << "a private part";
  EXPECT_FALSE(check_key_set(set(with(rsa, "kid", ""))));
  EXPECT_FALSE(check_key_set(set(with(ec, "crv", "P-384"))));
  EXPECT_FALSE(check_key_set(set(with(ec, "x", ec["y"])))) << "off the curve";
  const Json p384 = test::jwk_of(*generate_key(SignatureAlgorithm::kEcdsaP384).value());
  EXPECT_FALSE(check_key_set(set(with(p384, "kid", "c")))) << "another curve";
  EXPECT_FALSE(check_key_set(set(with(ec, "kty", "oct"))));
  EXPECT_FALSE(check_key_set(set({{"kty", "oct"}, {"kid", "a"}, {"k", "AAAA"}})));
}

}  // namespace
}  // namespace assay::attestation
