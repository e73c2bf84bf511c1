// SPDX-License-Identifier: Apache-2.0
// Public keys as JSON Web Keys (RFC 7517, RFC 7518 section 6.2). Internal to this folder.
#pragma once

#include "attestation/keys.h"
#include "schemas/core/json.h"

namespace assay::attestation {

// Reads a key of type EC on P-256 or P-384 with the members kty, crv, x and y, and possibly kid,
// alg (ES256 for P-256, ES384 for P-384) and use ("sig"). Errors: unsupported-key, also for any
// other member; invalid-encoding, schema-violation.
[[nodiscard]] Result<PublicKey> ec_key_from_jwk(const Json& json);

// Returns the "alg" of signatures with this key (RFC 7518 section 3.4): "ES256", "ES384". Empty for
// a key that is not on P-256 or P-384.
[[nodiscard]] std::string_view jws_algorithm(const PublicKey& key);

}  // namespace assay::attestation
