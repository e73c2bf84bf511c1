// SPDX-License-Identifier: Apache-2.0
// The two forms of an ECDSA P-256 signature: raw, as tokens (RFC 7518 section 3.4) and quotes carry
// it, is r and s of 32 bytes each, most significant byte first; DER is Ecdsa-Sig-Value of RFC 3279
// section 2.2.3, which OpenSSL reads and writes. Nothing here verifies.
#pragma once

#include <array>
#include <optional>

#include "schemas/core/bytes.h"

namespace assay::attestation {

inline constexpr std::size_t kRawSignatureBytes = 64;
using RawSignature = std::array<std::uint8_t, kRawSignatureBytes>;

// Empty unless `raw` has 64 bytes and neither r nor s is zero: no signature is such.
[[nodiscard]] Bytes der_signature(ByteView raw);

// None unless `der` is one DER value whose r and s have at most 32 bytes each.
[[nodiscard]] std::optional<RawSignature> raw_signature(ByteView der);

}  // namespace assay::attestation
