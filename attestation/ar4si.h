// SPDX-License-Identifier: Apache-2.0
// Values of AR4SI claims (draft-ietf-rats-ar4si, section 2.3.4), as the built-in verifiers make
// them. Internal to attestation.
#pragma once

#include <cstdint>

namespace assay::attestation::ar4si {

inline constexpr std::int16_t kNoClaim = 0;
inline constexpr std::int16_t kTrusted = 2;
inline constexpr std::int16_t kBootApproved = 3;  // executables: what was booted is recognised
inline constexpr std::int16_t kUnsafe = 32;
inline constexpr std::int16_t kExecutablesUnrecognized = 33;
inline constexpr std::int16_t kContraindicated = 96;
inline constexpr std::int16_t kUnrecognized = 97;
inline constexpr std::int16_t kCryptoFailed = 99;

}  // namespace assay::attestation::ar4si
