// SPDX-License-Identifier: Apache-2.0
#include "attestation/jws.h"

#include <optional>
#include <string>
#include <utility>

#include "attestation/crypto/ecdsa_signature.h"

namespace assay::attestation {
namespace {

constexpr std::size_t kScalarBytes = 32;
constexpr std::size_t kP384ScalarBytes = 48;
constexpr std::size_t kMaxClaimDepth = 16;

std::unexpected<Error> no_token(std::string why) {
  return fail(ErrorCode::kSchemaViolation, std::move(why));
}

struct Parts {
  std::string_view header;
  std::string_view claims;
  std::string_view signature;
  std::string_view signed_part;
};

std::optional<Parts> split(std::string_view token) {
  const std::size_t first = token.find('.');
  const std::size_t second = first == std::string_view::npos ? first : token.find('.', first + 1);
  if (second == std::string_view::npos || token.find('.', second + 1) != std::string_view::npos) {
    return std::nullopt;
  }
  return Parts{token.substr(0, first), token.substr(first + 1, second - first - 1),
               token.substr(second + 1), token.substr(0, second)};
}

Json header_for(const KeyId& key) {
  return {{"alg", "ES256"}, {"kid", key.text()}, {"typ", "JWT"}};
}

Result<Json> object_of(ByteView text, const JsonLimits& limits) {
  auto json = parse_json(text, limits);
  if (!json || !json->is_object()) {
    return no_token("header and claims of a token are JSON objects");
  }
  return json;
}

}  // namespace

Result<std::string> sign_jws(const Json& claims, const Signer& signer) {
  if (signer.algorithm() != SignatureAlgorithm::kEcdsaP256) {
    return fail(ErrorCode::kUnsupportedKey, "tokens are signed with an ECDSA P-256 key");
  }
  ASSAY_ASSIGN(const std::string header, canonical_json(header_for(signer.key_id())));
  ASSAY_ASSIGN(const std::string payload, canonical_json(claims));
  std::string token =
      base64url_encode(as_bytes(header)) + "." + base64url_encode(as_bytes(payload));
  ASSAY_ASSIGN(const Bytes der, signer.sign(as_bytes(token)));
  const auto raw = raw_signature(der);
  if (!raw) {
    return fail(ErrorCode::kKeyUnusable, "the key made no ECDSA P-256 signature");
  }
  token += "." + base64url_encode(*raw);
  if (token.size() > kMaxTokenBytes) {
    return fail(ErrorCode::kLimitExceeded, "the claims are too long for a token");
  }
  return token;
}

// RFC 7515 section 2: no padding, and one spelling of each value.
Result<Bytes> decode_token_part(std::string_view text) {
  if (text.find_first_of("+/=") != std::string_view::npos) {
    return no_token("parts of a token are base64url without padding");
  }
  std::string padded(text);
  padded.append((4 - text.size() % 4) % 4, '=');
  auto bytes = base64_decode_any(padded);
  if (!bytes) {
    return no_token("parts of a token are base64url without padding");
  }
  return bytes;
}

Result<Token> parse_token(std::string_view text, const TokenLimits& limits) {
  if (text.size() > limits.token) {
    return no_token("a token has at most " + std::to_string(limits.token) + " bytes");
  }
  const auto parts = split(text);
  if (!parts) {
    return no_token("a token is three parts with dots between them");
  }
  ASSAY_ASSIGN(const Bytes header, decode_token_part(parts->header));
  if (header.size() > limits.header) {
    return no_token("the header of a token has at most " + std::to_string(limits.header) +
                    " bytes");
  }
  Token token{{}, {}, parts->claims, parts->signed_part};
  ASSAY_ASSIGN(token.header, object_of(header, {.max_depth = limits.header_depth}));
  ASSAY_ASSIGN(token.signature, decode_token_part(parts->signature));
  return token;
}

Result<Json> claims_of(const Token& token) {
  ASSAY_ASSIGN(const Bytes claims, decode_token_part(token.claims_part));
  return object_of(claims, {.max_depth = kMaxClaimDepth});  // as long as its token may be
}

Status verify_ecdsa(const Token& token, const PublicKey& key) {
  const std::size_t scalar = key.algorithm() == SignatureAlgorithm::kEcdsaP256   ? kScalarBytes
                             : key.algorithm() == SignatureAlgorithm::kEcdsaP384 ? kP384ScalarBytes
                                                                                 : 0;
  if (scalar == 0 || token.signature.size() != 2 * scalar) {
    return fail(ErrorCode::kSignatureInvalid,
                "a signature of ES256 has 64 bytes, one of ES384 has 96");
  }
  return key.verify(as_bytes(token.signed_part), der_signature(token.signature, scalar));
}

// RFC 8725 section 3.1: the verifier fixes algorithm and key, the token does not. Members that are
// not understood (crit, b64, jwk) are no member of ours.
Result<Json> verify_jws(std::string_view text, const PublicKey& key) {
  ASSAY_ASSIGN(const Token token, parse_token(text));
  if (key.algorithm() != SignatureAlgorithm::kEcdsaP256 || token.header != header_for(key.id())) {
    return fail(ErrorCode::kSignatureInvalid, "the token is not signed with ES256 by this key");
  }
  ASSAY_TRY(verify_ecdsa(token, key));
  return claims_of(token);
}

}  // namespace assay::attestation
