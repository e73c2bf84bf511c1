// SPDX-License-Identifier: Apache-2.0
#include "server/jwks.h"

#include <algorithm>

#include "attestation/keys.h"

namespace assay::server {
namespace {

// RFC 8037 section 2, RFC 7518 sections 6.2.1 and 6.3.1. The key itself ends the
// SubjectPublicKeyInfo: 32 bytes (RFC 8410 section 4), or an uncompressed point of two coordinates
// (RFC 5480 section 2.2).
Result<Json> key_of(const attestation::PublicKey& key) {
  const attestation::AlgorithmRow& row = attestation::row_of(key.algorithm());
  const std::size_t size = attestation::coordinate_bytes(row);
  const ByteView spki = key.der();
  if (const auto rsa = key.rsa_numbers()) {
    return Json{{"kty", "RSA"},
                {"n", base64url_encode(rsa->modulus)},
                {"e", base64url_encode(rsa->exponent)}};
  }
  if (size != 0) {
    return Json{{"kty", "EC"},
                {"crv", row.openssl},
                {"x", base64url_encode(spki.last(2 * size).first(size))},
                {"y", base64url_encode(spki.last(size))}};
  }
  if (key.algorithm() != SignatureAlgorithm::kEd25519) {
    return fail(ErrorCode::kUnsupportedKey,
                "a key set has no form for keys of " + std::string(row.openssl));
  }
  return Json{{"kty", "OKP"}, {"crv", "Ed25519"}, {"x", base64url_encode(spki.last(32))}};
}

Result<Json> published(const attestation::PublicKey& public_key) {
  ASSAY_ASSIGN(Json key, key_of(public_key));
  key["alg"] = attestation::row_of(public_key.algorithm()).jose;
  key["kid"] = public_key.id().text();
  key["use"] = "sig";
  return key;
}

// Says of a key in the set, or of one more, that it was replaced.
Status add_replaced(Json& keys, const RotatedKey& replaced) {
  ASSAY_ASSIGN(const auto key, attestation::PublicKey::from_der(replaced.rotation.old_key));
  const auto found = std::ranges::find_if(
      keys, [&](const Json& known) { return known.at("kid") == key.id().text(); });
  if (found != keys.end()) {
    (*found)["not_after"] = to_rfc3339(replaced.time);
    return {};
  }
  ASSAY_ASSIGN(Json entry, published(key));
  entry["not_after"] = to_rfc3339(replaced.time);
  keys.push_back(std::move(entry));
  return {};
}

}  // namespace

Result<Json> jwks(std::span<const Signer* const> signers,
                  const std::vector<RotatedKey>& rotations) {
  Json keys = Json::array();
  for (const Signer* signer : signers) {
    ASSAY_ASSIGN(const auto key, attestation::PublicKey::from_der(signer->public_key()));
    ASSAY_ASSIGN(Json entry, published(key));
    keys.push_back(std::move(entry));
  }
  for (const RotatedKey& rotated : rotations) {
    if (rotated.rotation.kind != attestation::RotatedKind::kLog) {
      ASSAY_TRY(add_replaced(keys, rotated));
    }
  }
  return Json{{"keys", std::move(keys)}};
}

}  // namespace assay::server
