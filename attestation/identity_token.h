// SPDX-License-Identifier: Apache-2.0
// ServiceAccount tokens of Kubernetes: an API server's word for which node a worker runs on.
// Spec: RFC 7515, 7517, 7518, 7519, 8725; claims as Kubernetes 1.30 and later write them.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "schemas/core/clock.h"
#include "schemas/core/error.h"
#include "schemas/registration.h"

namespace assay::attestation {

inline constexpr std::size_t kMaxIdentityTokenBytes = 16U << 10;
// How far the clocks of an API server and a service may be apart.
inline constexpr std::chrono::seconds kIdentityTokenLeeway{60};

// Refuses a key set that cannot be used as a whole: unsupported-key or invalid-encoding. RSA of
// 2048 to 8192 bits for RS256, EC on P-256 for ES256, each with a kid of its own.
[[nodiscard]] Status check_key_set(const Json& jwks);

// The node that the token names (claim kubernetes.io, node, name). Its header decides nothing: kid
// picks a key of `issuer`, and that key's type says what "alg" must be. "iss", "sub" and "aud" are
// those of issuer and audience; "exp" and "iat" are there, "nbf" where it is there holds. Error:
// identity-token-rejected, and those of check_key_set.
[[nodiscard]] Result<std::string> verify_identity_token(std::string_view token,
                                                        const ServiceAccountIssuer& issuer,
                                                        std::string_view audience, Timestamp now);

}  // namespace assay::attestation
