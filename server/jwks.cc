// SPDX-License-Identifier: Apache-2.0
#include "server/jwks.h"

#include <algorithm>

#include "attestation/keys.h"

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

Json published(const attestation::PublicKey& public_key) {
  Json key = key_of(public_key.algorithm(), public_key.der());
  key["kid"] = public_key.id().text();
  key["use"] = "sig";
  return key;
}

// Says of a key in the set, or of one more, that it was replaced.
Status add_replaced(Json& keys, const RotatedKey& replaced) {
  ASSAY_ASSIGN(const auto key, attestation::PublicKey::from_der(replaced.rotation.old_key));
  const auto found = std::ranges::find_if(
      keys, [&](const Json& known) { return known.at("kid") == key.id().text(); });
  Json& entry = found != keys.end() ? *found : keys.emplace_back(published(key));
  entry["not_after"] = to_rfc3339(replaced.time);
  return {};
}

}  // namespace

Result<Json> jwks(std::span<const Signer* const> signers,
                  const std::vector<RotatedKey>& rotations) {
  Json keys = Json::array();
  for (const Signer* signer : signers) {
    ASSAY_ASSIGN(const auto key, attestation::PublicKey::from_der(signer->public_key()));
    keys.push_back(published(key));
  }
  for (const RotatedKey& rotated : rotations) {
    if (rotated.rotation.kind != attestation::RotatedKind::kLog) {
      ASSAY_TRY(add_replaced(keys, rotated));
    }
  }
  return Json{{"keys", std::move(keys)}};
}

}  // namespace assay::server
