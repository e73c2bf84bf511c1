// SPDX-License-Identifier: Apache-2.0
// The other signature that verifies wherever one of P-256 does.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace assay::attestation::tdx::testing {

// Changes s of r || s to n - s, n being the order of P-256 (FIPS 186-5; SEC 2, section 2.4.2).
// Nobody needs a key for that, so the hash of a quote identifies nothing.
inline void negate_s(std::span<std::uint8_t, 64> signature) {
  constexpr std::array<std::uint8_t, 32> kOrder = {0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00,
                                                   0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                                   0xbc, 0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84,
                                                   0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51};
  int borrow = 0;
  for (std::size_t i = kOrder.size(); i-- > 0;) {
    const int difference = kOrder[i] - signature[32 + i] - borrow;
    borrow = difference < 0 ? 1 : 0;
    signature[32 + i] = static_cast<std::uint8_t>(difference & 0xff);
  }
}

}  // namespace assay::attestation::tdx::testing
