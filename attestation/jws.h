// SPDX-License-Identifier: Apache-2.0
// JSON Web Signatures in compact form (RFC 7515). What we sign is ES256 and nothing else. Internal
// to this folder.
#pragma once

#include <string>
#include <string_view>

#include "attestation/keys.h"
#include "schemas/core/json.h"
#include "schemas/core/signer.h"

namespace assay::attestation {

inline constexpr std::size_t kMaxTokenBytes = 64U << 10;

// The claims, signed: header {"alg":"ES256","kid":KEY ID,"typ":"JWT"}. unsupported-key unless
// `signer` is ECDSA P-256; limit-exceeded for claims that make more than kMaxTokenBytes.
[[nodiscard]] Result<std::string> sign_jws(const Json& claims, const Signer& signer);

// The claims of a token that `key` signed. The header decides nothing: it must be the one that
// sign_jws() writes. signature-invalid for another algorithm, key or signature; schema-violation
// for what is no token.
[[nodiscard]] Result<Json> verify_jws(std::string_view token, const PublicKey& key);

// A token taken apart: nothing of it is verified. Views are of the text that was parsed.
struct Token {
  Json header;  // an object
  Bytes signature;
  std::string_view claims_part;
  std::string_view signed_part;
};
// schema-violation for what is no token; parts are base64url without padding, in one spelling.
[[nodiscard]] Result<Token> parse_token(std::string_view text);
[[nodiscard]] Result<Bytes> decode_token_part(std::string_view text);
// The claims, an object; schema-violation. For whoever has verified the signature.
[[nodiscard]] Result<Json> claims_of(const Token& token);
// signature-invalid unless `key` (ECDSA P-256) made the token's signature with ES256.
[[nodiscard]] Status verify_es256(const Token& token, const PublicKey& key);

}  // namespace assay::attestation
