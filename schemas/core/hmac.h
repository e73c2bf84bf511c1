// SPDX-License-Identifier: Apache-2.0
// SHA-512 and HMAC-SHA-256 through OpenSSL's EVP interface, for the few formats that need them.
// Hash trees and ids use schemas/core/sha.h instead. A failing EVP call stops the process, as in
// schemas/core/sha.h.
#pragma once

#include <array>
#include <initializer_list>

#include "schemas/core/bytes.h"
#include "schemas/core/digest.h"

namespace assay {

// Returns the SHA-512 (FIPS 180-4) of the concatenation of `parts`.
[[nodiscard]] std::array<std::uint8_t, 64> sha512(std::initializer_list<ByteView> parts);

// Returns the HMAC-SHA-256 (RFC 2104) of the concatenation of `parts`.
[[nodiscard]] Digest hmac_sha256(ByteView key, std::initializer_list<ByteView> parts);

}  // namespace assay
