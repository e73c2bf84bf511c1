// SPDX-License-Identifier: Apache-2.0
#include "attestation/identity_token.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <vector>

#include <openssl/core_names.h>
#include <openssl/param_build.h>

#include "attestation/crypto/no_memory.h"
#include "attestation/crypto/openssl_handles.h"
#include "attestation/jwks.h"
#include "attestation/jws.h"
#include "attestation/keys.h"

namespace assay::attestation {
namespace {

constexpr int kMinRsaBits = 2048;
constexpr int kMaxRsaBits = 8192;
constexpr std::size_t kMaxExponentBytes = 8;
constexpr std::string_view kRs256 = "RS256";
constexpr std::string_view kEs256 = "ES256";

using ParamBuildHandle = Handle<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free>;
using ParamHandle = Handle<OSSL_PARAM, OSSL_PARAM_free>;
using NumberHandle = Handle<BIGNUM, BN_free>;

std::unexpected<Error> rejected(const char* why) {
  return fail(ErrorCode::kIdentityTokenRejected, why, "/identity_token");
}

// --- the issuer's keys

struct IssuerKey {
  std::string kid;
  std::string_view algorithm;          // RS256 or ES256
  PkeyHandle rsa;                      // for RS256
  std::optional<PublicKey> p256 = {};  // for ES256
};

std::string text_of(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool has_only(const Json& json, std::initializer_list<std::string_view> names) {
  return std::ranges::all_of(json.items(), [&](const auto& item) {
    return std::ranges::find(names, std::string_view(item.key())) != names.end();
  });
}

PkeyHandle make_rsa(ByteView modulus, ByteView exponent) {
  const ErrorQueueGuard guard;
  const NumberHandle n(BN_bin2bn(modulus.data(), static_cast<int>(modulus.size()), nullptr));
  const NumberHandle e(BN_bin2bn(exponent.data(), static_cast<int>(exponent.size()), nullptr));
  const ParamBuildHandle build(OSSL_PARAM_BLD_new());
  if (ASSAY_NO_MEMORY(n == nullptr || e == nullptr || build == nullptr)) {
    return nullptr;
  }
  if (BN_is_odd(n.get()) == 0 || BN_is_odd(e.get()) == 0 || BN_is_one(e.get()) != 0 ||
      BN_num_bits(n.get()) < kMinRsaBits) {
    return nullptr;
  }
  const int has_n = OSSL_PARAM_BLD_push_BN(build.get(), OSSL_PKEY_PARAM_RSA_N, n.get());
  const int has_e = OSSL_PARAM_BLD_push_BN(build.get(), OSSL_PKEY_PARAM_RSA_E, e.get());
  if (ASSAY_NO_MEMORY(has_n != 1 || has_e != 1)) {
    return nullptr;
  }
  const ParamHandle params(OSSL_PARAM_BLD_to_param(build.get()));
  const PkeyContextHandle context(EVP_PKEY_CTX_new_from_name(nullptr, "RSA", nullptr));
  EVP_PKEY* made = nullptr;
  if (ASSAY_NO_MEMORY(params == nullptr || context == nullptr)) {
    return nullptr;
  }
  if (ASSAY_NO_MEMORY(EVP_PKEY_fromdata_init(context.get()) != 1)) {
    return nullptr;
  }
  if (EVP_PKEY_fromdata(context.get(), &made, EVP_PKEY_PUBLIC_KEY, params.get()) != 1) {
    return nullptr;
  }
  return PkeyHandle(made);
}

Result<IssuerKey> read_rsa(const Json& json) {
  ASSAY_ASSIGN(const Bytes n, decode_token_part(text_of(json, "n")));
  ASSAY_ASSIGN(const Bytes e, decode_token_part(text_of(json, "e")));
  if (!has_only(json, {"kty", "kid", "alg", "use", "n", "e"}) || n.size() > kMaxRsaBits / 8 ||
      e.size() > kMaxExponentBytes) {
    return fail(ErrorCode::kUnsupportedKey, "an RSA key has n and e, of at most 8192 bits");
  }
  PkeyHandle key = make_rsa(n, e);
  if (key == nullptr) {
    return fail(ErrorCode::kUnsupportedKey, "an RSA key has 2048 to 8192 bits and is odd");
  }
  return IssuerKey{text_of(json, "kid"), kRs256, std::move(key)};
}

Result<IssuerKey> read_p256(const Json& json) {
  ASSAY_ASSIGN(PublicKey key, ec_key_from_jwk(json));
  if (key.algorithm() != SignatureAlgorithm::kEcdsaP256) {
    return fail(ErrorCode::kUnsupportedKey, "an EC key of an issuer is on P-256");
  }
  IssuerKey made{text_of(json, "kid"), kEs256, nullptr};
  made.p256 = std::move(key);
  return made;
}

Result<IssuerKey> read_key(const Json& json) {
  const std::string type = json.is_object() ? text_of(json, "kty") : std::string();
  if (type != "RSA" && type != "EC") {
    return fail(ErrorCode::kUnsupportedKey, "keys of an issuer are RSA, or EC on P-256");
  }
  ASSAY_ASSIGN(IssuerKey key, type == "RSA" ? read_rsa(json) : read_p256(json));
  const bool signs = !json.contains("use") || json["use"] == "sig";
  const bool same = !json.contains("alg") || json["alg"] == key.algorithm;
  if (key.kid.empty() || !signs || !same) {
    return fail(ErrorCode::kUnsupportedKey,
                "a key has a kid, use sig, and the alg of its kind: RS256 or ES256");
  }
  return key;
}

Result<std::vector<IssuerKey>> read_key_set(const Json& jwks) {
  const auto listed = jwks.find("keys");
  if (!jwks.is_object() || listed == jwks.end() || !listed->is_array() || listed->empty()) {
    return fail(ErrorCode::kUnsupportedKey, "a key set has keys");
  }
  std::vector<IssuerKey> keys;
  std::set<std::string> names;
  for (const Json& item : *listed) {
    ASSAY_ASSIGN(IssuerKey key, read_key(item));
    if (!names.insert(key.kid).second) {
      return fail(ErrorCode::kUnsupportedKey, "two keys have the same kid");
    }
    keys.push_back(std::move(key));
  }
  return keys;
}

// --- the token

bool verifies_rsa(EVP_PKEY* key, ByteView message, ByteView signature) {
  const ErrorQueueGuard guard;
  const DigestContextHandle context(EVP_MD_CTX_new());
  if (ASSAY_NO_MEMORY(context == nullptr)) {
    return false;
  }
  const int ready =
      EVP_DigestVerifyInit_ex(context.get(), nullptr, "SHA2-256", nullptr, nullptr, key, nullptr);
  if (ASSAY_NO_MEMORY(ready != 1)) {
    return false;
  }
  return EVP_DigestVerify(context.get(), signature.data(), signature.size(), message.data(),
                          message.size()) == 1;
}

// RFC 8725 sections 3.1 and 3.5: what the key is for is known beforehand.
Status verify_signature(const Token& token, const std::vector<IssuerKey>& keys) {
  if (!has_only(token.header, {"alg", "kid", "typ"})) {
    return rejected("the header of the token has members that are not understood");
  }
  const std::string kid = text_of(token.header, "kid");
  const auto key = std::ranges::find_if(keys, [&](const IssuerKey& own) { return own.kid == kid; });
  if (key == keys.end()) {
    return rejected("no key of the issuer signed the token");
  }
  if (text_of(token.header, "alg") != key->algorithm) {
    return rejected("the token's alg is not the one of its key");
  }
  const bool right =
      key->p256 ? verify_ecdsa(token, *key->p256).has_value()
                : verifies_rsa(key->rsa.get(), as_bytes(token.signed_part), token.signature);
  return right ? Status() : rejected("the signature of the token does not verify");
}

// NumericDate as a whole number of seconds.
std::optional<Timestamp> time_of(const Json& claims, const char* name) {
  const auto found = claims.find(name);
  if (found == claims.end() || !found->is_number_unsigned()) {
    return std::nullopt;
  }
  constexpr std::uint64_t kLast = 253'402'300'799;  // of the year 9999
  const auto seconds = found->get<std::uint64_t>();
  if (seconds > kLast) {
    return std::nullopt;
  }
  return Timestamp(std::chrono::seconds(seconds));
}

Status check_times(const Json& claims, Timestamp now) {
  const auto expires = time_of(claims, "exp");
  const auto issued = time_of(claims, "iat");
  const auto begins = claims.contains("nbf") ? time_of(claims, "nbf") : issued;
  if (!expires || !issued || !begins) {
    return rejected("the token lacks a time");
  }
  if (*expires <= now) {
    return rejected("the token has expired");
  }
  if (*issued > now + kIdentityTokenLeeway || *begins > now + kIdentityTokenLeeway) {
    return rejected("the token is not valid yet");
  }
  return {};
}

bool is_for(const Json& claims, std::string_view audience) {
  const auto found = claims.find("aud");
  if (found == claims.end()) {
    return false;
  }
  if (found->is_string()) {
    return *found == audience;
  }
  return found->is_array() && std::ranges::any_of(*found, [&](const Json& item) {
           return item.is_string() && item == audience;
         });
}

Result<std::string> node_of(const Json& claims) {
  const Json* at = &claims;
  for (const char* name : {"kubernetes.io", "node", "name"}) {
    const auto found = at->is_object() ? at->find(name) : at->end();
    if (!at->is_object() || found == at->end()) {
      return rejected("the token names no node: Kubernetes 1.30 and later write it");
    }
    at = &*found;
  }
  if (!at->is_string() || at->get<std::string>().empty()) {
    return rejected("the token names no node: Kubernetes 1.30 and later write it");
  }
  return at->get<std::string>();
}

}  // namespace

Status check_key_set(const Json& jwks) {
  ASSAY_TRY(read_key_set(jwks));
  return {};
}

Result<std::string> verify_identity_token(std::string_view token,
                                          const ServiceAccountIssuer& issuer,
                                          std::string_view audience, Timestamp now) {
  ASSAY_ASSIGN(const std::vector<IssuerKey> keys, read_key_set(issuer.jwks));
  if (token.size() > kMaxIdentityTokenBytes) {
    return rejected("a token has at most 16 KiB");
  }
  const auto parsed = parse_token(token);
  if (!parsed) {
    return rejected("this is no signed token");
  }
  ASSAY_TRY(verify_signature(*parsed, keys));
  const auto read = claims_of(*parsed);
  if (!read) {
    return rejected("this is no signed token");
  }
  const Json& claims = *read;
  if (text_of(claims, "iss") != issuer.issuer) {
    return rejected("the token is of another issuer");
  }
  if (text_of(claims, "sub") != issuer.subject) {
    return rejected("the token is of another service account");
  }
  if (!is_for(claims, audience)) {
    return rejected("the token is for another audience");
  }
  ASSAY_TRY(check_times(claims, now));
  return node_of(claims);
}

}  // namespace assay::attestation
