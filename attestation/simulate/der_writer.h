// SPDX-License-Identifier: Apache-2.0
// Writes DER (X.690) values for simulated certificates and CRLs. Internal to this folder and its
// tests; verification code does not use it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "schemas/core/bytes.h"
#include "schemas/core/clock.h"

namespace assay::attestation::tdx::der {

[[nodiscard]] Bytes value(std::uint8_t tag, ByteView content);
[[nodiscard]] Bytes sequence(std::initializer_list<Bytes> parts);
[[nodiscard]] Bytes sequence(std::span<const Bytes> parts);
[[nodiscard]] Bytes set(std::initializer_list<Bytes> parts);
// Writes a constructed, context-specific value with tag [number].
[[nodiscard]] Bytes context(std::uint8_t number, ByteView content);
// Writes an object identifier from dotted decimal.
[[nodiscard]] Bytes oid(std::string_view dotted);
[[nodiscard]] Bytes integer(std::uint64_t number);
// Writes an unsigned integer from big-endian bytes.
[[nodiscard]] Bytes integer(ByteView magnitude);
[[nodiscard]] Bytes enumerated(std::uint8_t number);
[[nodiscard]] Bytes boolean_true();  // DER leaves out false, the default
[[nodiscard]] Bytes octets(ByteView content);
// Writes a bit string. The lowest `unused` bits of the last byte are not part of the string.
[[nodiscard]] Bytes bits(ByteView content, std::uint8_t unused = 0);
[[nodiscard]] Bytes utf8(std::string_view text);
// Writes UTCTime for years until 2049 and GeneralizedTime for later years (RFC 5280 section
// 4.1.2.5).
[[nodiscard]] Bytes time(Timestamp time);

}  // namespace assay::attestation::tdx::der
