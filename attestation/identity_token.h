// SPDX-License-Identifier: Apache-2.0
// ServiceAccount tokens of Kubernetes, in which an API server states the node that a worker runs
// on. Spec: RFC 7515, 7517, 7518, 7519, 8725; claims as Kubernetes 1.30 and later write them.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "schemas/core/clock.h"
#include "schemas/core/error.h"
#include "schemas/registration.h"

namespace assay::attestation {

inline constexpr std::size_t kMaxIdentityTokenBytes = 16U << 10;
// A token may be issued ("iat") or begin ("nbf") at most this long after the service's time,
// because the clock of the API server may differ. The end ("exp") has no such allowance.
inline constexpr std::chrono::seconds kIdentityTokenLeeway{60};

// Checks that every key of a key set can be used. RS256 needs RSA of 2048 to 8192 bits, ES256 needs
// EC on P-256, and each key needs a kid of its own. Errors: unsupported-key, invalid-encoding.
[[nodiscard]] Status check_key_set(const Json& jwks);

// Verifies `token` and returns the node that it names (claim kubernetes.io, node, name). The
// token's header is not trusted: its kid only selects a key of `issuer`, and the type of that key
// decides what "alg" must be. "iss" and "sub" must be those of `issuer`, and "aud" must contain
// `audience`. "exp" and "iat" are required; "nbf" is checked when present. Errors:
// identity-token-rejected; those of check_key_set.
[[nodiscard]] Result<std::string> verify_identity_token(std::string_view token,
                                                        const ServiceAccountIssuer& issuer,
                                                        std::string_view audience, Timestamp now);

}  // namespace assay::attestation
