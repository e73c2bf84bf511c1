// SPDX-License-Identifier: Apache-2.0
// The two forms of an ECDSA signature on P-256, P-384 or P-521. The raw form is r and s of 32, 48
// or 66 bytes each, most significant byte first; tokens (RFC 7518 section 3.4) and quotes contain
// this form. The DER form is Ecdsa-Sig-Value of RFC 3279 section 2.2.3, which OpenSSL reads and
// writes. No function here verifies a signature.
#pragma once

#include <array>
#include <optional>

#include "schemas/core/bytes.h"

namespace assay::attestation {

inline constexpr std::size_t kRawSignatureBytes = 64;
using RawSignature = std::array<std::uint8_t, kRawSignatureBytes>;

// Returns the DER form of `raw`. Empty unless `raw` has 64 bytes and neither r nor s is zero,
// because no signature has a zero r or s.
[[nodiscard]] Bytes der_signature(ByteView raw);

// Returns the raw form of `der`. Returns nullopt unless `der` is one DER value whose r and s have
// at most 32 bytes each.
[[nodiscard]] std::optional<RawSignature> raw_signature(ByteView der);

// The same for a curve whose scalars have `scalar_bytes`: 32 for P-256, 48 for P-384, 66 for P-521.
// Empty for another size.
[[nodiscard]] Bytes der_signature(ByteView raw, std::size_t scalar_bytes);
[[nodiscard]] Bytes raw_signature(ByteView der, std::size_t scalar_bytes);

}  // namespace assay::attestation
