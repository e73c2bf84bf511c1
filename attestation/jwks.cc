// SPDX-License-Identifier: Apache-2.0
#include "attestation/jwks.h"

#include <algorithm>
#include <array>
#include <string>

#include "attestation/jws.h"

namespace assay::attestation {
namespace {

constexpr std::array<std::string_view, 7> kMembers = {"kty", "kid", "alg", "use", "crv", "x", "y"};

std::string text_of(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool has_only_members(const Json& json) {
  return std::ranges::all_of(json.items(), [](const auto& item) {
    return std::ranges::find(kMembers, std::string_view(item.key())) != kMembers.end();
  });
}

}  // namespace

std::string_view jws_algorithm(const PublicKey& key) {
  switch (key.algorithm()) {
    case SignatureAlgorithm::kEcdsaP256:
      return "ES256";
    case SignatureAlgorithm::kEcdsaP384:
      return "ES384";
    default:
      return {};
  }
}

Result<PublicKey> ec_key_from_jwk(const Json& json) {
  if (!json.is_object() || !has_only_members(json) || text_of(json, "kty") != "EC") {
    return fail(ErrorCode::kUnsupportedKey, "an EC key has kty, crv, x and y");
  }
  const std::string curve = text_of(json, "crv");
  const std::size_t size = curve == "P-256" ? 32 : curve == "P-384" ? 48 : 0;
  ASSAY_ASSIGN(const Bytes x, decode_token_part(text_of(json, "x")));
  ASSAY_ASSIGN(const Bytes y, decode_token_part(text_of(json, "y")));
  if (size == 0 || x.size() != size || y.size() != size) {
    return fail(ErrorCode::kUnsupportedKey,
                "an EC key has crv P-256 or P-384, and x and y of 32 or 48 bytes");
  }
  ASSAY_ASSIGN(PublicKey key, PublicKey::from_point(x, y));
  const bool signs = !json.contains("use") || json["use"] == "sig";
  if (!signs || (json.contains("alg") && json["alg"] != jws_algorithm(key))) {
    return fail(ErrorCode::kUnsupportedKey, "an EC key has use sig, and the alg of its curve");
  }
  return key;
}

}  // namespace assay::attestation
