// SPDX-License-Identifier: Apache-2.0
// JSON Web Signatures in compact form (RFC 7515). Signing uses ES256 only. Internal to this folder.
#pragma once

#include <string>
#include <string_view>

#include "attestation/keys.h"
#include "schemas/core/json.h"
#include "schemas/core/signer.h"

namespace assay::attestation {

// Of a token of ours, and of one about the identity of a workload.
inline constexpr std::size_t kMaxTokenBytes = 64U << 10;
inline constexpr std::size_t kMaxTokenHeaderBytes = 1U << 10;
struct TokenLimits {
  std::size_t token = kMaxTokenBytes;
  std::size_t header = kMaxTokenHeaderBytes;  // decoded
  std::size_t header_depth = 2;
};

// Signs `claims` with the header {"alg":"ES256","kid":KEY ID,"typ":"JWT"}. Errors: unsupported-key
// unless `signer` is ECDSA P-256; limit-exceeded for a token of more than kMaxTokenBytes.
[[nodiscard]] Result<std::string> sign_jws(const Json& claims, const Signer& signer);

// Verifies that `key` signed the token and returns the claims of the token. The header is not
// trusted: it must be the one that sign_jws() writes. Errors: signature-invalid for another
// algorithm or key, or when the signature does not verify; schema-violation for a text that is not
// a token.
[[nodiscard]] Result<Json> verify_jws(std::string_view text, const PublicKey& key);

// The parts of a token. None of them is verified. Views borrow from the parsed text.
struct Token {
  Json header;  // an object
  Bytes signature;
  std::string_view claims_part;
  std::string_view signed_part;
};
// Splits a token into its parts. Each part must be canonical base64url without padding. Errors:
// schema-violation for a text that is not a token, or longer than `limits` allow.
[[nodiscard]] Result<Token> parse_token(std::string_view text, const TokenLimits& limits = {});
[[nodiscard]] Result<Bytes> decode_token_part(std::string_view text);
// Parses the claims, which must be an object. The caller must have verified the signature before.
// Errors: schema-violation.
[[nodiscard]] Result<Json> claims_of(const Token& token);
// Checks that `key` made the token's signature: with ES256 on P-256, with ES384 on P-384. Errors:
// signature-invalid, also for any other key.
[[nodiscard]] Status verify_ecdsa(const Token& token, const PublicKey& key);

}  // namespace assay::attestation
