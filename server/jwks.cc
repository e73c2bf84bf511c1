// SPDX-License-Identifier: Apache-2.0
#include "server/jwks.h"

namespace assay::server {
namespace {

// The key itself ends the SubjectPublicKeyInfo: 32 bytes (RFC 8410 section 4), or an uncompressed
// point of two coordinates (RFC 5480 section 2.2).
Json key_of(SignatureAlgorithm algorithm, ByteView spki) {
  if (algorithm == SignatureAlgorithm::kEd25519) {
    return {{"kty", "OKP"},
            {"crv", "Ed25519"},
            {"alg", "EdDSA"},
            {"x", base64url_encode(spki.last(32))}};
  }
  const bool p256 = algorithm == SignatureAlgorithm::kEcdsaP256;
  const std::size_t size = p256 ? 32 : 48;
  return {{"kty", "EC"},
          {"crv", p256 ? "P-256" : "P-384"},
          {"alg", p256 ? "ES256" : "ES384"},
          {"x", base64url_encode(spki.last(2 * size).first(size))},
          {"y", base64url_encode(spki.last(size))}};
}

Result<Json> published(const Signer& signer) {
  constexpr std::size_t kSmallest = 44;  // of Ed25519; the others hold their point and more
  const bool p384 = signer.algorithm() == SignatureAlgorithm::kEcdsaP384;
  const bool p256 = signer.algorithm() == SignatureAlgorithm::kEcdsaP256;
  if (signer.public_key().size() < (p384 ? 96U : p256 ? 64U : kSmallest)) {
    return fail(ErrorCode::kKeyUnusable, "a key of the service has no usable public key");
  }
  Json key = key_of(signer.algorithm(), signer.public_key());
  key["kid"] = signer.key_id().text();
  key["use"] = "sig";
  return key;
}

}  // namespace

Result<Json> jwks(std::span<const Signer* const> signers) {
  Json keys = Json::array();
  for (const Signer* signer : signers) {
    ASSAY_ASSIGN(Json key, published(*signer));
    keys.push_back(std::move(key));
  }
  return Json{{"keys", std::move(keys)}};
}

}  // namespace assay::server
