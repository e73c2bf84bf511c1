// SPDX-License-Identifier: Apache-2.0
// JSON Web Signatures in compact form (RFC 7515) with ES256 and nothing else. Internal to this
// folder.
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

}  // namespace assay::attestation
