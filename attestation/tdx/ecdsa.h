// SPDX-License-Identifier: Apache-2.0
// ECDSA P-256 with SHA-256 in the raw form of quotes and collateral: signatures are r || s, keys
// are x || y, big-endian. Internal to this folder.
#pragma once

#include "attestation/crypto/openssl_handles.h"
#include "schemas/core/bytes.h"

namespace assay::attestation::tdx {

inline constexpr std::size_t kRawKeyBytes = 64;

// Imports a public key. Returns null unless `point` has 64 bytes and is a point of the curve (FIPS
// 186-5, SEC 1 section 3.2.2).
[[nodiscard]] PkeyHandle import_p256(ByteView point);

// Returns true when `signature` (64 bytes) is a signature of `message` by `key`. Returns false for
// r or s of zero and for a key of another type.
[[nodiscard]] bool verify_raw(EVP_PKEY* key, ByteView message, ByteView signature);

// Does the same for a signature in DER (RFC 3279 section 2.2.3).
[[nodiscard]] bool verify_der(EVP_PKEY* key, ByteView message, ByteView signature);

// Returns true when `key` is on the named curve P-256.
[[nodiscard]] bool is_p256(EVP_PKEY* key);

}  // namespace assay::attestation::tdx
